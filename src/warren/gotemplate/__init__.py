"""Go's text/template language, as far as messages need it: the same template gives the same text."""
