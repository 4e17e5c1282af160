"""Go's text/template language, as far as a message can meet it: the same text out of the same template."""
