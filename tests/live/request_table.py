"""Requests, well-formed and not, each with the answers that a backend gives: what requests_test sends.

A row is a name, the bytes, and the statuses of the answers in order. KEPT behind them: the connection is good for more. Else the backend closes it, and
whatever came behind is not looked at. HIDDEN is a request that stands where a body is, or is not: nobody may answer it, unless the row says so.
"""

KEPT = "kept"

HIDDEN = b"GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n"
LENGTH = str(len(HIDDEN)).encode()
CHUNK = b"%x\r\n%s\r\n0\r\n\r\n" % (len(HIDDEN), HIDDEN)


def post(*fields, body=b"", line=b"POST /healthz HTTP/1.1", host=b"Host: h\r\n"):
    return line + b"\r\n" + host + b"".join(field + b"\r\n" for field in fields) + b"\r\n" + body


def get(*fields, line=b"GET /healthz HTTP/1.1", host=b"Host: h\r\n", body=b""):
    return post(*fields, line=line, host=host, body=body)


def encoded(value, body=CHUNK):
    return post(b"Transfer-Encoding: " + value, body=body)


def chunks(body):
    return post(b"Transfer-Encoding: chunked", body=body)


def sized(*values):
    return post(*(b"Content-Length: " + value for value in values), body=HIDDEN)


def hosts(value):
    return get(host=b"Host:" + value + b"\r\n")


ROWS = [
    # Well-formed.
    ("a GET", get(), (200, KEPT)),
    ("two at once", get() + get(), (200, 200, KEPT)),
    ("a HEAD", get(line=b"HEAD /healthz HTTP/1.1"), (200, KEPT)),
    ("a body with its length", sized(LENGTH), (405, KEPT)),
    ("a length with zeros in front", sized(b"00" + LENGTH), (405, KEPT)),
    ("a length of nothing", post(b"Content-Length: 0"), (405, KEPT)),
    ("no length", post(), (405, KEPT)),
    ("a GET with a body", get(b"Content-Length: " + LENGTH, body=HIDDEN), (200, KEPT)),
    ("chunks", chunks(CHUNK), (405, KEPT)),
    ("chunks in capitals", encoded(b"CHUNKED"), (405, KEPT)),
    ("chunks and then a request", chunks(CHUNK) + get(), (405, 200, KEPT)),
    ("a size with zeros in front", chunks(b"000" + CHUNK), (405, KEPT)),
    ("a chunk extension", chunks(b"1;a=b\r\nx\r\n0\r\n\r\n"), (405, KEPT)),
    ("a quoted chunk extension", chunks(b'1;a="b c"\r\nx\r\n0\r\n\r\n'), (405, KEPT)),
    ("a trailer", chunks(b"1\r\nx\r\n0\r\nX-After: y\r\n\r\n"), (405, KEPT)),
    ("blanks around a value", get(b"X:  \ty \t "), (200, KEPT)),
    ("an empty value", get(b"X:"), (200, KEPT)),
    ("bytes beyond ASCII in a value", get(b"X: \xc3\xa4"), (200, KEPT)),
    ("a port in Host", hosts(b" h:80"), (200, KEPT)),
    ("an IPv6 address in Host", hosts(b" [::1]:80"), (200, KEPT)),
    ("a whole URI", get(line=b"GET http://h/healthz HTTP/1.1"), (200, KEPT)),
    ("a whole URI for another host", get(line=b"GET http://other/healthz HTTP/1.1"), (200, KEPT)),
    ("OPTIONS *", get(line=b"OPTIONS * HTTP/1.1"), (404, KEPT)),
    ("one blank line in front", b"\r\n" + get(), (200, KEPT)),
    ("the last one", get(b"Connection: close") + HIDDEN, (200,)),
    ("HTTP/1.0", get(line=b"GET /healthz HTTP/1.0"), (200,)),
    ("HTTP/1.0 without Host", get(line=b"GET /healthz HTTP/1.0", host=b""), (200,)),
    ("HTTP/1.0 that expects 100", post(b"Expect: 100-continue", b"Content-Length: 2", line=b"POST /healthz HTTP/1.0", body=b"hi"), (405,)),
    # Transfer-Encoding.
    ("identity", encoded(b"identity", HIDDEN), (400,)),
    ("identity and chunks", encoded(b"identity"), (400,)),
    ("xchunked", encoded(b"xchunked", HIDDEN), (400,)),
    ("chunkedx", encoded(b"chunkedx"), (400,)),
    ("gzip", encoded(b"gzip", HIDDEN), (400,)),
    ("quoted", encoded(b'"chunked"', HIDDEN), (400,)),
    ("quoted otherwise", encoded(b"'chunked'"), (400,)),
    ("chunked, identity", encoded(b"chunked, identity", HIDDEN), (400,)),
    ("identity, chunked", encoded(b"identity, chunked"), (400,)),
    ("chunked, chunked", encoded(b"chunked, chunked"), (400,)),
    ("chunked and a comma", encoded(b"chunked,"), (400,)),
    ("a comma and chunked", encoded(b",chunked"), (400,)),
    ("chunked with a parameter", encoded(b"chunked;q=1"), (400,)),
    ("an empty encoding", encoded(b"", HIDDEN), (400,)),
    ("a vertical tab behind it", encoded(b"chunked\x0b"), (400,)),
    ("a vertical tab before it", encoded(b"\x0bchunked"), (400,)),
    ("a NUL behind it", encoded(b"chunked\0"), (400,)),
    ("bytes beyond ASCII", encoded(b"\xc3\xa7hunked", HIDDEN), (400,)),
    ("gzip, chunked", encoded(b"gzip, chunked"), (501,)),
    ("two encodings", post(b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked", body=CHUNK), (400,)),
    ("two encodings, one unknown", post(b"Transfer-Encoding: identity", b"Transfer-Encoding: chunked", body=CHUNK), (400,)),
    ("an encoding on the next line", post(b"Transfer-Encoding:\r\n chunked", body=CHUNK), (400,)),
    ("a blank before the colon", post(b"Transfer-Encoding : chunked", body=CHUNK), (400,)),
    ("a tab before the colon", post(b"Transfer-Encoding\t: chunked", body=CHUNK), (400,)),
    ("a blank before the name", post(b" Transfer-Encoding: chunked", body=CHUNK), (400,)),
    ("HTTP/1.0 with chunks", post(b"Transfer-Encoding: chunked", line=b"POST /healthz HTTP/1.0", body=CHUNK), (400,)),
    # Content-Length.
    ("length and chunks", post(b"Content-Length: " + LENGTH, b"Transfer-Encoding: chunked", body=CHUNK), (400,)),
    ("chunks and length", post(b"Transfer-Encoding: chunked", b"Content-Length: 4", body=CHUNK), (400,)),
    ("length and identity", post(b"Content-Length: " + LENGTH, b"Transfer-Encoding: identity", body=HIDDEN), (400,)),
    ("the same length twice", sized(LENGTH, LENGTH), (400,)),
    ("two lengths", sized(LENGTH, b"0"), (400,)),
    ("two lengths, the other way round", sized(b"0", LENGTH), (400,)),
    ("a list of lengths", sized(LENGTH + b", " + LENGTH), (400,)),
    ("a list of unequal lengths", sized(b"0, " + LENGTH), (400,)),
    ("a length with a plus", sized(b"+" + LENGTH), (400,)),
    ("a negative length", sized(b"-1"), (400,)),
    ("a hexadecimal length", sized(b"0x10"), (400,)),
    ("a length with a point", sized(LENGTH + b".0"), (400,)),
    ("a length with a blank in it", sized(b"1 0"), (400,)),
    ("an empty length", sized(b""), (400,)),
    ("a length in words", sized(b"ten"), (400,)),
    ("a length with a vertical tab", sized(LENGTH + b"\x0b"), (400,)),
    ("a length beyond 64 bits", sized(b"99999999999999999999"), (413,)),
    ("a length of more than is taken", sized(b"9999999999"), (413,)),
    ("a blank before the colon of a length", post(b"Content-Length : " + LENGTH, body=HIDDEN), (400,)),
    # Chunks.
    ("no size", chunks(b"\r\nx\r\n0\r\n\r\n"), (400,)),
    ("a size with 0x", chunks(b"0x1\r\nx\r\n0\r\n\r\n"), (400,)),
    ("a size with a plus", chunks(b"+1\r\nx\r\n0\r\n\r\n"), (400,)),
    ("a negative size", chunks(b"-1\r\nx\r\n0\r\n\r\n"), (400,)),
    ("a size that is no number", chunks(b"g\r\nx\r\n0\r\n\r\n"), (400,)),
    ("a size beyond 64 bits", chunks(b"11111111111111111\r\nx\r\n0\r\n\r\n"), (400,)),
    ("a blank behind the size", chunks(b"1 \r\nx\r\n0\r\n\r\n"), (400,)),
    ("a blank before the size", chunks(b" 1\r\nx\r\n0\r\n\r\n"), (400,)),
    ("a size that ends with LF", chunks(b"1\nx\r\n0\r\n\r\n"), (400,)),
    ("a chunk that ends with LF", chunks(b"1\r\nx\n0\r\n\r\n"), (400,)),
    ("a chunk longer than its size", chunks(b"1\r\nxy\r\n0\r\n\r\n"), (400,)),
    ("LF in a chunk extension", chunks(b"1;a\nx\r\n0\r\n\r\n" + HIDDEN), (400,)),
    ("LF in a quoted chunk extension", chunks(b'1;a="\n"\r\nx\r\n0\r\n\r\n' + HIDDEN), (400,)),
    ("CR in a chunk extension", chunks(b"1;a\rb\r\nx\r\n0\r\n\r\n"), (400,)),
    ("a chunk extension without a name", chunks(b"1;=b\r\nx\r\n0\r\n\r\n"), (400,)),
    ("a long chunk extension", chunks(b"1;" + b"a" * 300 + b"\r\nx\r\n0\r\n\r\n"), (400,)),
    ("a length in the trailer", chunks(b"1\r\nx\r\n0\r\nContent-Length: 5\r\n\r\n"), (400,)),
    ("an encoding in the trailer", chunks(b"1\r\nx\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n"), (400,)),
    # Host.
    ("no Host", get(host=b""), (400,)),
    ("two Hosts", get(b"Host: h"), (400,)),
    ("two Hosts that differ", get(b"Host: other"), (400,)),
    ("an empty Host", hosts(b""), (400,)),
    ("a Host with a blank", hosts(b" a b"), (400,)),
    ("a Host with a comma", hosts(b" a,b"), (400,)),
    ("a Host with a name in front", hosts(b" a@b"), (400,)),
    ("a Host with a path", hosts(b" a/b"), (400,)),
    ("a Host with a port in words", hosts(b" a:b"), (400,)),
    ("a Host with an open bracket", hosts(b" [::1"), (400,)),
    ("no Host, and a whole URI", get(line=b"GET http://h/healthz HTTP/1.1", host=b""), (400,)),
    # Fields and lines.
    ("a folded field", get(b"X: y\r\n z"), (400,)),
    ("a folded first field", get(host=b" Host: h\r\n"), (400,)),
    ("a field that ends with LF", b"GET /healthz HTTP/1.1\r\nHost: h\nX: y\r\n\r\n", (400,)),
    ("lines that end with LF", b"GET /healthz HTTP/1.1\nHost: h\n\n", (400,)),
    ("CR in a value", get(b"X: y\rz"), (400,)),
    ("NUL in a value", get(b"X: y\0z"), (400,)),
    ("NUL in a name", get(b"X\0: y"), (400,)),
    ("a field without a colon", get(b"X"), (400,)),
    ("a field without a name", get(b": y"), (400,)),
    ("a blank in a name", get(b"X y: z"), (400,)),
    ("a bracket in a name", get(b"X(: z"), (400,)),
    ("too many fields", get(*[b"X: y"] * 200), (431,)),
    ("a field that is too large", get(b"X: " + b"y" * 20_000), (431,)),
    ("another expectation", get(b"Expect: tea"), (417,)),
    # The request line.
    ("two blanks", get(line=b"GET  /healthz HTTP/1.1"), (400,)),
    ("a tab", get(line=b"GET\t/healthz HTTP/1.1"), (400,)),
    ("a blank at the end", get(line=b"GET /healthz HTTP/1.1 "), (400,)),
    ("a blank in front", get(line=b" GET /healthz HTTP/1.1"), (400,)),
    ("a blank in the target", get(line=b"GET /health z HTTP/1.1"), (400,)),
    ("a fragment", get(line=b"GET /healthz#x HTTP/1.1"), (400,)),
    ("NUL in the target", get(line=b"GET /healthz\0 HTTP/1.1"), (400,)),
    ("a hidden NUL in the target", get(line=b"GET /healthz%00 HTTP/1.1"), (400,)),
    ("bytes beyond ASCII in the target", get(line=b"GET /\xc3\xa4 HTTP/1.1"), (400,)),
    ("a target without a slash", get(line=b"GET healthz HTTP/1.1"), (400,)),
    ("a GET of *", get(line=b"GET * HTTP/1.1"), (400,)),
    ("a URI of another kind", get(line=b"GET ftp://h/healthz HTTP/1.1"), (400,)),
    ("a URI with a name", get(line=b"GET http://a@h/healthz HTTP/1.1"), (400,)),
    ("CONNECT", get(line=b"CONNECT h:80 HTTP/1.1"), (501,)),
    ("no version", get(line=b"GET /healthz"), (400,)),
    ("small letters", get(line=b"GET /healthz http/1.1"), (400,)),
    ("HTTP/1.10", get(line=b"GET /healthz HTTP/1.10"), (400,)),
    ("HTTP/0.9", get(line=b"GET /healthz HTTP/0.9"), (505,)),
    ("HTTP/2.0", get(line=b"GET /healthz HTTP/2.0"), (505,)),
    ("a bad method", get(line=b"G(T /healthz HTTP/1.1"), (400,)),
    ("two blank lines in front", b"\r\n\r\n" + get(), (400,)),
]
