#!/usr/bin/python3
"""oracle.py corpus FILE | random SEED COUNT: templates with what Jinja2 makes of them, one JSON object a line.

The other side of conformance_test.cpp. Jinja2 is the distribution's, with StrictUndefined. One thing is changed: an
undefined value in a list is refused, too, where Jinja2 shows "Undefined". What Ansible adds is written here again, in
Python, for the filters that templates/ has of it.
"""

import base64
import hashlib
import json
import pathlib
import random
import shlex
import signal
import sys
import warnings

import jinja2

warnings.simplefilter("ignore")  # of Python, for templates that index what has no items

FOLDER = pathlib.Path(__file__).resolve().parent
DATA = json.loads((FOLDER / "data.json").read_text())


class Strict(jinja2.StrictUndefined):
    __slots__ = ()

    def __repr__(self):
        return self._fail_with_undefined_error()


def together(a, b, keep):
    a, b, seen = list(a), list(b), []
    for x in list(a) + list(b):
        if x not in seen and keep(x in a, x in b):
            seen.append(x)
    return seen


def combine(*dicts, recursive=False):
    result = {}
    for each in (inner for given in dicts for inner in (given if isinstance(given, list) else [given])):  # as Ansible has it
        for key, value in each.items():
            both = isinstance(value, dict) and isinstance(result.get(key), dict)
            result[key] = combine(result[key], value, recursive=True) if recursive and both else value
    return result


def flatten(items, levels=None):
    result = []
    for item in items:
        if item in (None, "None", "null"):
            continue
        if isinstance(item, (list, tuple)) and (levels is None or levels > 0):
            result += flatten(item, None if levels is None else levels - 1)
        else:
            result.append(item)
    return result


def sha(text, kind="sha1"):
    if kind != "sha256":
        raise ValueError(kind)
    return hashlib.sha256(str(text).encode()).hexdigest()


def ternary(value, yes, no, none=jinja2):
    return none if value is None and none is not jinja2 else yes if value else no


ANSIBLE = {
    "to_json": json.dumps,
    "to_nice_json": lambda a, indent=4: json.dumps(a, indent=indent, sort_keys=True, separators=(",", ": ")),
    "from_json": json.loads,
    "b64encode": lambda a: base64.b64encode(str(a).encode()).decode(),
    "b64decode": lambda a: base64.b64decode(a, validate=True).decode(),
    "bool": lambda a: a if a is None or isinstance(a, bool) else str(a).lower() in ("yes", "on", "1", "true") or a == 1,
    "ternary": ternary,
    "hash": sha,
    "basename": lambda a: a.rpartition("/")[2],
    "dirname": lambda a: __import__("os").path.dirname(a),
    "quote": lambda a: shlex.quote(str(a)),
    "split": lambda a, *more: a.split(*more),
    "combine": combine,
    "dict2items": lambda d, key_name="key", value_name="value": [{key_name: k, value_name: v} for k, v in d.items()],
    "items2dict": lambda i, key_name="key", value_name="value": {x[key_name]: x[value_name] for x in i},
    "flatten": flatten,
    "union": lambda a, b: together(a, b, lambda x, y: True),
    "intersect": lambda a, b: together(a, b, lambda x, y: x and y),
    "difference": lambda a, b: together(a, b, lambda x, y: x and not y),
    "symmetric_difference": lambda a, b: together(a, b, lambda x, y: x != y),
    "zip": zip,
}


def environment(options):
    made = jinja2.Environment(undefined=Strict, optimized=False, loader=jinja2.DictLoader(DATA["templates"]),
                              extensions=["jinja2.ext.do", "jinja2.ext.loopcontrols"], **options)
    made.filters.update(ANSIBLE)
    made.tests.update({"truthy": bool, "falsy": lambda a: not a, "contains": lambda a, b: b in a,
                       "subset": lambda a, b: all(x in b for x in a), "superset": lambda a, b: all(x in a for x in b)})
    return made


OPTIONS = [dict(trim_blocks=t, lstrip_blocks=l, keep_trailing_newline=k)
           for t, l, k in ((True, False, True), (True, True, False), (False, False, False), (False, True, True))]
ENVIRONMENTS = [environment(options) for options in OPTIONS]


class TooSlow(Exception):
    pass


def too_slow(*_):
    raise TooSlow()


signal.signal(signal.SIGALRM, too_slow)


def answer(template, which):
    row = {"template": template, **OPTIONS[which]}
    signal.alarm(5)
    try:
        text = ENVIRONMENTS[which].from_string(template).render(json.loads(json.dumps(DATA["variables"])))
        text.encode()
        row["output"] = text
    except TooSlow:
        return
    except Exception as error:
        row["error"] = f"{type(error).__name__}: {error}"[:200]
    finally:
        signal.alarm(0)
    print(json.dumps(row))


class Random:
    """Templates of all constructs, mostly ones that can be rendered."""

    TEXTS = ["'a'", "'web-01'", "'Über Straße'", "''", "' x y  z '", "'1.5'", "'42'", "\"it's\"", "'a,b,,c'", "'<b>&'",
             "'%s-%d'", "'{}/{:>5}'", "'line\\nnext'", "'日本'", "'HELLO World'", "'-7'", "'/etc/ssl/cert.pem'", "'true'"]
    NUMBERS = ["0", "1", "2", "3", "-1", "7", "10", "255", "1.5", "0.1", "2.0", "-2.5", "1e3", "100000", "0x1f", "1_000"]
    NAMES = ["port", "name", "sites", "users", "facts", "empty", "ratio", "flag", "nothing", "missing", "text", "numbers",
             "nested", "words", "x", "y", "item", "loop.index", "loop.first", "facts.os.id", "facts['cpu']", "sites[0].name",
             "users.alice", "nested.a.b", "ns.v"]
    FILTERS = ["upper", "lower", "title", "capitalize", "trim", "length", "list", "first", "last", "join", "join(',')",
               "sort", "reverse", "unique|list", "unique|list", "int", "float", "string", "abs", "round", "round(1)", "tojson",
               "default('d')", "default(1, true)", "replace('a', 'b')", "e", "indent", "indent(2, true)", "truncate(5)",
               "truncate(8, true, '…', 0)", "wordcount", "center(9)", "batch(2)|list", "slice(2)|list", "sum", "min", "max",
               "map('upper')|list", "map(attribute='name')|list", "select|list", "reject('none')|list", "select('string')|list",
               "selectattr('name')|list", "selectattr('port', 'gt', 80)|list", "rejectattr('port', 'defined')|list",
               "dictsort", "items|list", "groupby('port')", "sort(attribute='name')", "sort(reverse=true)", "format(1)",
               "format('a', 2)", "filesizeformat", "urlencode", "xmlattr", "string|length", "to_json", "to_nice_json",
               "b64encode", "bool", "basename", "dirname", "quote", "flatten", "dict2items", "ternary('y', 'n')",
               "combine({'k': 1})", "union([1, 'a'])", "difference([1])", "intersect([1, 'a'])", "hash('sha256')",
               "list|length", "map('string')|join('-')", "count", "forceescape", "safe", "int(default=3)", "int(base=16)",
               "round(0, 'floor')", "round(1, 'ceil')", "min(attribute='port')", "join(', ', attribute='name')",
               "sum(attribute='port')", "map('int')|sum", "batch(3, 'f')|list", "attr('upper')", "mandatory" if False else "d"]
    TESTS = ["defined", "undefined", "none", "string", "number", "integer", "float", "mapping", "sequence", "iterable",
             "boolean", "true", "false", "odd", "even", "divisibleby 3", "divisibleby(2)", "lower", "upper", "in [1, 'a']",
             "eq 1", "ne('a')", "gt 2", "le 5", "sameas none", "callable", "escaped", "equalto 'a'", "truthy", "contains 'a'"]
    METHODS = ["upper()", "lower()", "strip()", "split()", "split(',')", "split('a', 1)", "startswith('a')", "endswith('x')",
               "replace('a', 'bb')", "items()|list", "keys()|list", "values()|list", "get('name')", "get('zz', 1)", "title()",
               "find('e')", "count('a')", "join(['p', 'q'])", "format(1, 2)", "zfill(5)", "ljust(6, '.')", "rjust(6)",
               "isdigit()", "isalpha()", "isupper()", "splitlines()", "rsplit('-', 1)", "partition('-')", "swapcase()",
               "center(10, '*')", "index(1)", "lstrip('w')", "rstrip('01')", "capitalize()", "rfind('a')", "isalnum()",
               "copy()", "count(1)", "strip('ab')", "keys()", "items()", "isspace()", "istitle()", "swapcase()"]
    OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "~", "==", "!=", "<", "<=", ">", ">=", "in", "not in", "and", "or"]

    def __init__(self, seed):
        self.r = random.Random(seed)

    def expression(self, depth=0):
        r = self.r
        kind = r.randrange(26 if depth < 4 else 9)
        e = lambda: self.expression(depth + 1)
        if kind < 3:
            return r.choice(self.TEXTS)
        if kind < 5:
            return r.choice(self.NUMBERS)
        if kind < 9:
            return r.choice(self.NAMES) if r.randrange(12) else r.choice(["true", "none", "False", "[]", "{}", "()", "range(3)"])
        if kind < 12:
            return f"{e()}|{r.choice(self.FILTERS)}"
        if kind < 14:
            return f"{e()} {r.choice(self.OPERATORS)} {e()}"
        if kind < 16:
            return f"({e()} {r.choice(self.OPERATORS)} {e()})"
        if kind == 16:
            return "[" + ", ".join(e() for _ in range(r.randrange(4))) + "]"
        if kind == 17:
            return "{" + ", ".join(f"{r.choice(self.TEXTS + self.NUMBERS)}: {e()}" for _ in range(r.randrange(3))) + "}"
        if kind == 18:
            return f"({e()} if {e()} else {e()})"
        if kind == 19:
            return f"{e()} is {r.choice(['', 'not '])}{r.choice(self.TESTS)}"
        if kind == 20:
            return f"({e()}).{r.choice(self.METHODS)}"
        if kind == 21:
            i = lambda: r.choice(["", "0", "1", "-1", "2", "-3"])
            return f"({e()})[{i()}:{i()}{r.choice(['', ':2', ':-1'])}]"
        if kind == 22:
            return f"({e()})[{r.choice(['0', '-1', '1', repr('name'), repr('a'), '5'])}]"
        if kind == 23:
            return f"{r.choice(['not ', '-', '+'])}{e()}"
        if kind == 24:
            return f"{e()} < {e()} <= {e()}"
        return r.choice(["range(5)|list", "dict(a=1, b='x')", "m(1)", "m(y=2, x=3)", "m()", "range(6, 0, -2)|list",
                         "'%05.2f|%x|%s'|format(3.14159, 255, 'a')", "'{0:>6}|{1:.2f}'.format('a', 2.5)", "loop.cycle('a', 'b')"])

    def blank(self):
        return self.r.choice(["", " ", "\n", "\n  ", "text", " a\n", "\n\n", "\t"])

    def tag(self, inside):
        return "{%" + self.r.choice(["", "", "", "-", "+"]) + " " + inside + " " + self.r.choice(["", "", "", "-"]) + "%}"

    def body(self, depth):
        return "".join(self.blank() + self.statement(depth) for _ in range(self.r.randrange(1, 4))) + self.blank()

    def statement(self, depth=0):
        r, e, tag = self.r, self.expression, self.tag
        kind = r.randrange(20 if depth < 3 else 6)
        if kind < 5:
            return "{{" + r.choice(["", "", "-"]) + " " + e() + " " + r.choice(["", "", "-"]) + "}}"
        if kind == 5:
            return tag(f"set {r.choice('xy')} = {e()}")
        body = lambda: self.body(depth + 1)
        if kind < 9:
            middle = tag(f"elif {e()}") + body() if r.randrange(3) == 0 else ""
            return tag(f"if {e()}") + body() + middle + (tag("else") + body() if r.randrange(2) else "") + tag("endif")
        if kind < 13:
            target, over = r.choice([("item", e()), ("item", "sites"), ("item", "numbers"), ("k, v", "users.items()"),
                                     ("k, v", "users|dictsort"), ("item", "words"), ("item", "range(3)")])
            test = f" if {e()}" if r.randrange(4) == 0 else ""
            return (tag(f"for {target} in {over}{test}") + body() + r.choice(["", "{{ loop.index }}{{ loop.last }}", tag("break") if False else ""])
                    + (tag("else") + body() if r.randrange(4) == 0 else "") + tag("endfor"))
        if kind == 13:
            return tag("macro m(x, y='d')") + body() + "{{ x }}" + tag("endmacro")
        if kind == 14:
            return tag("set x") + body() + tag("endset")
        if kind == 15:
            return tag(f"with x = {e()}") + body() + tag("endwith")
        if kind == 16:
            return tag(f"filter {r.choice(['upper', 'indent', 'trim', 'replace(1, 2)', 'title'])}") + body() + tag("endfilter")
        if kind == 17:
            return r.choice(["{# a comment #}", "{#- c -#}", "{% raw %}{{ x }}{% endraw %}", "{%- raw -%} {% x {%- endraw -%}",
                             "{% include 'hello' %}", "{% import 'macros' as q %}{{ q.twice(1) }}"])
        if kind == 18:
            return tag("set ns = namespace(v=0)") + tag("for item in numbers") + tag("set ns.v = ns.v + item") + tag("endfor") + "{{ ns.v }}"
        return tag("macro c(x)") + "{{ caller(x) }}" + tag("endmacro") + tag("call(z) c(3)") + body() + "{{ z }}" + tag("endcall")

    def template(self):
        return self.body(0)


def main(arguments):
    if arguments[0] == "corpus":
        for number, template in enumerate(pathlib.Path(arguments[1]).read_text().split("\n----\n")):
            for which in range(len(OPTIONS)):
                answer(template, which)
        return
    made = Random(int(arguments[1]))
    for number in range(int(arguments[2])):
        answer(made.template() if number % 3 else "{{ " + made.expression() + " }}", number % len(OPTIONS))


main(sys.argv[1:])
