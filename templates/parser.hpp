// Tokens to a tree, with Jinja2's grammar.
#pragma once

#include "templates/lexer.hpp"
#include "templates/syntax.hpp"

namespace templates {

// Fill `syntax`, whose source is there. Throw SyntaxFailure.
void parse_template(Syntax& syntax, const Options& options);
void parse_expression(Syntax& syntax);

}  // namespace templates
