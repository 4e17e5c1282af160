"""Go's text/template language, as far as a notification can reach it: the same text out of the same template."""
