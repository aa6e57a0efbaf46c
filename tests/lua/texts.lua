-- url, base64 and hash: texts made into other texts.

local test = require "test"
local same, raises = test.same, test.raises

task { "url", function(user)
  same(url.encode "a b&c/ü", "a%20b%26c%2F%C3%BC", "text")
  same(url.encode { q = "a b", n = 1 }, "n=1&q=a+b", "a query")
  same(url.decode "a%20b%26", "a b&", "decoded")
  same(url.join("http://a.example/x/", "../y"), "http://a.example/y", "joined")
  same(user:get("/echo?q=" .. url.encode "a&b"):json().path, "/echo?q=a%26b", "sent")
  raises("the text must be a string", url.encode)
  raises("is not a URL", url.join, "nonsense", "x")
end }

task { "base64", function()
  same(base64.encode "goose\0", "Z29vc2UA", "encoded")
  same(base64.decode "Z29vc2UA", "goose\0", "decoded")
  same(base64.decode "-_8", "\xfb\xff", "the other alphabet, without padding")
  same(base64.encode("\xfb\xff", "url"), "-_8", "for URLs, without padding")
  same(base64.encode "\xfb\xff", "+/8=", "standard, padded")
  same(base64.decode(base64.encode("\xfb\xff\xfe\xfa", "url")), "\xfb\xff\xfe\xfa", "and back")
  raises('the alphabet is "url" or left out, not "URL"', base64.encode, "a", "URL")
  raises("the alphabet must be", base64.encode, "a", true)
  raises("this is not base64", base64.decode, "*")
end }

-- RFC 1321, FIPS 180-2, RFC 2202 and RFC 4231 (test case 2)
task { "hash", function()
  same(hash.md5 "abc", "900150983cd24fb0d6963f7d28e17f72", "md5")
  same(hash.sha256 "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "sha256")
  local mac = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
  same(hash.hmac_sha256("Jefe", "what do ya want for nothing?"), mac, "hmac_sha256")
  same(hash.sha1 "abc", "a9993e364706816aba3e25717850c26c9cd0d89d", "sha1")
  same(hash.sha512 "abc", "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
    .. "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f", "sha512")
  same(hash.hmac_sha1("Jefe", "what do ya want for nothing?"), "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79", "hmac_sha1")
  same(hash.hmac_sha512("Jefe", "what do ya want for nothing?"),
    "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea250554"
    .. "9758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737", "hmac_sha512")
  raises("expected a string here, not nil", hash.md5)
end }

-- RFC 4648, section 10
task { "base32 and hex", function()
  for plain, coded in pairs { [""] = "", f = "MY======", fo = "MZXQ====", foo = "MZXW6===", foobar = "MZXW6YTBOI======" } do
    same(base32.encode(plain), coded, plain)
    same(base32.decode(coded), plain, coded)
    same(base32.decode(coded:gsub("=", ""):lower()), plain, "without padding, in lower case")
  end
  same(hex.encode "goose\0", "676f6f736500", "encoded")
  same(hex.decode "676F6f736500", "goose\0", "decoded")
  raises("this is not base32: it contains '1'", base32.decode, "M1")
  raises("this is not hexadecimal: it is cut short", hex.decode, "abc")
  same(hash.sha256("abc", "raw"), hex.decode(hash.sha256 "abc"), "a raw digest")
  same(#hash.hmac_sha1("k", "text", "raw"), 20, "a raw HMAC")
  raises('the form of a digest must be "raw"', hash.md5, "a", "base64")
end }

task { "parts of URLs", function()
  local parts = url.parse "https://ada:p%40ss@shop.example:8443/a%20b?q=x+y&tag=1&tag=2#top"
  same(parts.scheme .. " " .. parts.host .. " " .. parts.port, "https shop.example 8443", "the origin")
  same(parts.path, "/a%20b", "the path as it is sent")
  same(parts.query.q, "x y", "a field")
  same(table.concat(parts.query.tag, ","), "1,2", "one that stands twice")
  same(parts.fragment .. parts.user .. parts.password, "topadap@ss", "the rest")
  local plain = url.parse "http://shop.example"
  same(plain.port, 80, "the port of the scheme")
  same(plain.path .. tostring(plain.fragment) .. tostring(next(plain.query)), "/nilnil", "what is not there")
  same(url.query("?code=a%2Fb&state=").code, "a/b", "a query alone")
  same(url.query("code=1&state=").state, "", "an empty field")
  raises("is not a URL", url.parse, "/a")
end }

task { "time", function()
  local now = time.now()
  assert(math.abs(now - os.time()) < 5 and math.abs(time.ms() / 1000 - now) < 5, "the clock")
  same(time.iso(1795753507.1234), "2026-11-27T04:25:07.123Z", "ISO 8601")
  same(time.iso(0), "1970-01-01T00:00:00Z", "whole seconds")
  same(time.http(784111777), "Sun, 06 Nov 1994 08:49:37 GMT", "HTTP")
  same(time.format("%Y%m%dT%H%M%SZ", 784111777), "19941106T084937Z", "as it is asked for")
  for _, text in ipairs {
    "1994-11-06T08:49:37Z", "1994-11-06T09:49:37+01:00", "Sun, 06 Nov 1994 08:49:37 GMT", "1994-11-06 08:49:37",
  } do
    same(time.parse(text), 784111777.0, text)
  end
  same(time.parse "1994-11-06", 784080000.0, "a date alone")
  same(time.parse(time.iso(now)) - now < 0.001, true, "there and back")
  raises("'soon' is neither like 2026", time.parse, "soon")
  raises("the time must be a number of seconds", time.iso, "now")
  raises("beyond the years", time.iso, 1e300)
  raises("time.format: '%Ö'", time.format, "%Ö", 0)
end }
