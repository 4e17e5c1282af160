"""Checks beyond types: references between sections, files, and modules that contradict each other."""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, Final

from warren.config.kinds import ReadsFile, Section
from warren.config.modules import ElasticsearchSink, ParquetSink
from warren.config.properties import faults
from warren.config.sections import ClientProfile, HttpServer, KafkaAdminConsumer, KafkaConsumer, Tls
from warren.config.settings import SINGLE, located
from warren.config.tree import ModuleId, Tree, dotted, fields, likely_model, reference
from warren.spelling import nearest

# (section,) or (section, name): the module, for those that are valid by themselves
Modules = Mapping[ModuleId, Section]
# what the extra `aws` installs
_AWS_SIGNER: Final = "aws_msk_iam_sasl_signer"
# product: the module of its client
_SEARCH_CLIENTS: Final = {"elasticsearch": "elasticsearch", "opensearch": "opensearchpy"}


def resolve_references(tree: Tree) -> None:
    """Every referenced section exists; a reference that differs only by case is corrected."""
    for module_id, keys in tree.modules.items():
        model = likely_model(module_id[0], keys)
        for key, info in fields(model).items() if model else ():
            target = reference(info)
            if target is not None and isinstance(keys.get(key), str) and keys[key]:
                _resolve(tree, (*module_id, key), keys, target.section)


def _resolve(tree: Tree, path: tuple[str, ...], keys: dict[str, Any], section: str) -> None:
    name, known = keys[path[-1]], tree.names(section)
    if name in known:
        return
    same = [one for one in known if one.lower() == name.lower()]
    if same:
        tree.add(
            "warning",
            path,
            f'"{name}" is written [{dotted((section, same[0]))}] in its section',
            "names keep their case: write it the same way",
        )
        keys[path[-1]] = same[0]
        return
    near, choice = nearest(name, known), ", ".join(f'"{one}"' for one in known)
    if near:
        remedy = f'did you mean "{near}"?'
    elif known:
        remedy = f"add it, or use one of {choice}"
    else:
        remedy = f"add [{dotted((section, name))}]" + (
            "" if section == "cluster" else ", or leave the key out"
        )
    tree.add("error", path, f"there is no section [{dotted((section, name))}]", remedy)


def find_files(tree: Tree) -> None:
    """Every file that a key names exists."""
    for module_id, keys in tree.modules.items():
        model = likely_model(module_id[0], keys)
        for key, info in fields(model).items() if model else ():
            mark = next((mark for mark in info.metadata if isinstance(mark, ReadsFile)), None)
            value = keys.get(key)
            if mark is None or not isinstance(value, str) or not value:
                continue
            path = located(value, tree.document.path)
            if path.is_dir():
                tree.add("error", (*module_id, key), f'"{value}" is a directory', "name a file")
            elif not path.exists():
                beside = tree.document.path.parent.resolve()
                looked = "" if path.is_absolute() else f" in the working directory nor in {beside}"
                what = f'there is no file "{value}"'
                tree.add(
                    "error", (*module_id, key), what + (f", neither{looked}" if looked else ""), mark.remedy
                )


def check_sections(tree: Tree, modules: Modules) -> None:
    """Checks over all sections together."""
    for section in sorted(SINGLE):
        names = tree.names(section)
        for name in names[1:]:
            what = f"there is already [{dotted((section, names[0]))}]"
            tree.add("error", (section, name), what, f"keep one {section} section: Warren has one {section}")
    _clusters(tree)
    _consumers(tree, modules)
    _listeners(tree, modules)
    _logins(tree, modules)
    _sinks(tree, modules)


def _clusters(tree: Tree) -> None:
    clusters = tree.names("cluster")
    if not clusters and not any(problem.key.startswith("cluster") for problem in tree.problems):
        tree.add(
            "warning",
            ("cluster",),
            "there is no cluster, so there is nothing to monitor",
            "add [cluster.NAME] and [consumer.NAME]",
        )
    watched = [keys.get("cluster") for _, keys in tree.named("consumer")]
    # a consumer with a wrong or missing cluster is reported already, and may be the one
    for name in clusters if all(one in clusters for one in watched) else ():
        if name not in watched:
            what = "no consumer section belongs to this cluster, so none of its groups is monitored"
            tree.add("warning", ("cluster", name), what, f'add a [consumer.NAME] with cluster = "{name}"')


def _consumers(tree: Tree, modules: Modules) -> None:
    seen: dict[tuple[str, str, frozenset[str]], str] = {}
    for module_id, module in modules.items():
        if not isinstance(module, KafkaConsumer):
            continue
        if module.backfill_earliest and not module.start_latest:
            what = "backfill-earliest has no effect without start-latest"
            tree.add(
                "warning", (*module_id, "backfill-earliest"), what, "set start-latest = true, or remove it"
            )
        same = (module.cluster, module.offsets_topic, frozenset(module.servers))
        if same in seen:
            what = f"this reads the same topic as [{dotted(('consumer', seen[same]))}]"
            tree.add("warning", module_id, what, "remove one of them")
        seen.setdefault(same, module_id[1])
    _polled_and_read(tree, modules)


def _polled_and_read(tree: Tree, modules: Modules) -> None:
    """Two consumers that see the same commits, one of them with the time of the poll."""
    everything = {
        module_id: module
        for module_id, module in modules.items()
        if isinstance(module, KafkaConsumer | KafkaAdminConsumer)
        if module.group_allowlist is module.group_denylist is None
    }
    read = {each.cluster: name for (_, name), each in everything.items() if isinstance(each, KafkaConsumer)}
    for module_id, module in everything.items():
        if isinstance(module, KafkaAdminConsumer) and module.cluster in read:
            what = f"[{dotted(('consumer', read[module.cluster]))}] has the commits of these groups already"
            remedy = "remove one of them, or give each its groups with group-allowlist"
            tree.add("warning", module_id, what, remedy)


def _listeners(tree: Tree, modules: Modules) -> None:
    taken: dict[str, str] = {}
    for module_id, module in modules.items():
        if not isinstance(module, HttpServer):
            continue
        if module.address in taken and module.port != 0:
            what = f'[{dotted(("httpserver", taken[module.address]))}] listens on "{module.address}" too'
            tree.add("error", (*module_id, "address"), what, "give each listener an address of its own")
        taken.setdefault(module.address, module_id[1])
        tls = modules.get(("tls", module.tls))
        if isinstance(tls, Tls) and not tls.certfile:
            what = f"[{dotted(('tls', module.tls))}] has no certificate"
            tree.add("error", (*module_id, "tls"), what, "a listener needs certfile and keyfile there")


def _logins(tree: Tree, modules: Modules) -> None:
    for module_id, module in modules.items():
        if isinstance(module, ClientProfile) and module.iam and find_spec(_AWS_SIGNER) is None:
            what = "logins at AWS MSK need AWS's signer, which is not installed"
            tree.add("error", (*module_id, "iam"), what, "pip install 'warren[aws]'")
        if isinstance(module, ClientProfile):
            for name, what, remedy in faults(module.properties):
                tree.add("error", (*module_id, "properties", name), what, remedy)


def _sinks(tree: Tree, modules: Modules) -> None:
    taken: dict[str, str] = {}
    for place, module in modules.items():
        if isinstance(module, ElasticsearchSink) and find_spec(_SEARCH_CLIENTS[module.server]) is None:
            what = f"the client of {module.server} is not installed"
            tree.add("error", (*place, "class-name"), what, "pip install 'warren[elasticsearch]'")
        if not isinstance(module, ParquetSink):
            continue
        path = module.path.rstrip("/")
        if path in taken:
            what = f'[{dotted(("sink", taken[path]))}] writes to "{path}" too'
            tree.add("error", (*place, "path"), what, "give each sink a path of its own")
        taken.setdefault(path, place[1])
