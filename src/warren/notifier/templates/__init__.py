"""Templates of messages: Go's text/template for compatibility with Burrow, Jinja2, and defaults."""

from warren.gotemplate.errors import TemplateError
from warren.notifier.templates.examination import examine
from warren.notifier.templates.samples import sample
from warren.notifier.templates.template import Template, load_template, text_template

__all__ = ["Template", "TemplateError", "examine", "load_template", "sample", "text_template"]
