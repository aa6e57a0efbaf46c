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
  raises("this is not base64", base64.decode, "*")
end }

-- RFC 1321, FIPS 180-2 and RFC 4231 (test case 2)
task { "hash", function()
  same(hash.md5 "abc", "900150983cd24fb0d6963f7d28e17f72", "md5")
  same(hash.sha256 "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "sha256")
  local mac = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
  same(hash.hmac_sha256("Jefe", "what do ya want for nothing?"), mac, "hmac_sha256")
  raises("a string is wanted here, not nil", hash.md5)
end }
