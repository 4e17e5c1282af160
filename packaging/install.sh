#!/bin/sh
# Installs Warren into a directory of its own: install.sh DIRECTORY [dependencies|warren]
# The wheel and requirements.txt lie beside this script. Without a second argument it does both steps; the image does
# them one by one, so that a new wheel does not fetch Spark again. Python 3.11 and Java 17 must be there.
set -eu

directory=${1:?"say where to, for example: install.sh /opt/warren"}
step=${2:-all}
here=$(cd "$(dirname "$0")" && pwd)
# what Kafka and Spark need beside the packages; whoever runs Warren only reads it
export WARREN_CACHE="$directory/cache"
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
# readable for the user that Warren runs as, whatever the umask of the one who installs it
umask 022

dependencies() {
    [ -x "$directory/bin/pip" ] || "${PYTHON:-python3}" -m venv "$directory"
    # exactly what Warren was tested with, by its hashes
    "$directory/bin/pip" install --quiet --no-deps --require-hashes -r "$here/requirements.txt"
}

warren() {
    "$directory/bin/pip" install --quiet --no-index --no-deps --force-reinstall "$here"/warren-*.whl
    # a package that is missing is an error, not a download
    "$directory/bin/pip" check
    # the Kafka of `warren demo`, 43 MB
    "$directory/bin/python" -m warren.demo.jars
    # an archive of Java's classes: Spark starts in half the time
    "$directory/bin/python" -m warren.pipeline.runtime
    "$directory/bin/warren" --version
}

case $step in
    dependencies | warren) "$step" ;;
    all) dependencies && warren ;;
    *) echo "install.sh: no step $step: dependencies or warren" >&2; exit 2 ;;
esac
