-- One-time passwords, JSON Web Tokens and signatures for AWS, by the vectors of their specifications.

local test = require "test"
local same, raises = test.same, test.raises

-- RFC 6238, appendix B
task { "one-time passwords", function()
  local totp = require "lgoose.totp"
  local secret = ("1234567890"):rep(7)
  for _, one in ipairs {
    { 59, "sha1", "94287082" }, { 59, "sha256", "46119246" }, { 59, "sha512", "90693936" },
    { 1111111109, "sha1", "07081804" }, { 1111111111, "sha256", "67062674" }, { 1234567890, "sha512", "93441116" },
    { 20000000000, "sha1", "65353130" }, { 20000000000, "sha512", "47863826" },
  } do
    local length = ({ sha1 = 20, sha256 = 32, sha512 = 64 })[one[2]]
    local key = base32.encode(secret:sub(1, length))
    same(totp.code(key, { digits = 8, hash = one[2], time = one[1] }), one[3], one[2] .. " at " .. one[1])
  end
  same(#totp.code "GEZDGNBVGY3TQOJQ", 6, "of now")
  raises("unknown option 'digit'", totp.code, "GEZDGNBV", { digit = 6 })
  raises("option 'period' is a whole number of seconds, at least 1, not 0", totp.code, "GEZDGNBV", { period = 0 })
  raises("option 'period' is a whole number of seconds, at least 1, not 30s", totp.code, "GEZDGNBV", { period = "30s" })
  raises("option 'time' is a number of seconds since 1970, not -1", totp.code, "GEZDGNBV", { time = -1 })
  raises("the secret must be a string, not nil", totp.code)
  raises("option 'hash' is", totp.code, "GEZDGNBV", { hash = "md5" })
  raises("this is not base32", totp.code, "no secret!")
end }

task { "tokens", function()
  local jwt = require "lgoose.jwt"
  -- RFC 7515, appendix A.1: the key, and the signature of its own text.
  local key = base64.decode "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"
  local text = "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9"
    .. ".eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
  local signature = base64.encode(hash.hmac_sha256(key, text, "raw"), "url")
  same(signature, "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", "the signature of the specification")
  local claims, head = jwt.decode(text .. "." .. signature)
  same(claims.iss, "joe", "its claims")
  same(head.alg, "HS256", "its head")
  for _, algorithm in ipairs { "HS256", "HS384", "HS512" } do
    local token = jwt.encode({ sub = "ada", n = 1 }, key, { algorithm = algorithm, header = { kid = "k1" } })
    local back, of = jwt.decode(token)
    same(back.sub .. back.n .. of.alg .. of.kid .. of.typ, "ada1" .. algorithm .. "k1JWT", algorithm)
    local signed, mac = token:match "^(.+)%.([^.]+)$"
    same(base64.encode(hash["hmac_sha" .. algorithm:sub(3)](key, signed, "raw"), "url"), mac, "signed with " .. algorithm)
  end
  raises("this is not a token", jwt.decode, "a.b")
  raises("hash.sign, XS256: unknown algorithm", jwt.encode, {}, "x", { algorithm = "XS256" })
  raises("the key is not a private key in PEM form", jwt.encode, {}, "x", { algorithm = "RS256" })
  raises("unknown option 'alg'", jwt.encode, {}, "x", { alg = "HS256" })
  raises("the claims must be a table", jwt.encode, "x", "x")
end }

-- RFC 8037, appendix A.4: the signature of EdDSA is the same each time.
task { "a key of Ed25519", function()
  local seed = base64.decode "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A"
  local der = hex.decode "302e020100300506032b657004220420" .. seed
  local pem = "-----BEGIN PRIVATE KEY-----\n" .. base64.encode(der) .. "\n-----END PRIVATE KEY-----\n"
  local text = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc"
  same(base64.encode(hash.sign("EdDSA", pem, text), "url"),
    "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg", "the signature")
  raises("the key does not fit", hash.sign, "ES256", pem, text)
end }

-- The examples of AWS: 'get-vanilla' and 'get-vanilla-query-order-key-case' of its test suite, and 'ListUsers' of its guide.
task { "signatures for AWS", function()
  local aws = require "lgoose.aws"
  local at = time.parse "2015-08-30T12:36:00Z"
  local key, secret = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
  local function signer(service) return aws.signer { region = "us-east-1", service = service, key = key, secret = secret } end
  local headers = signer "service"("GET", "https://example.amazonaws.com/", nil, nil, at)
  same(headers["x-amz-date"], "20150830T123600Z", "the date")
  same(headers.authorization, "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
    .. "SignedHeaders=host;x-amz-date, Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31", "get-vanilla")
  headers = signer "service"("GET", "https://example.amazonaws.com/?Param2=value2&Param1=value1", nil, nil, at)
  same(headers.authorization:match "Signature=(%x+)", "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500", "a query")
  headers = signer "iam"("GET", "https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08", nil,
    { ["Content-Type"] = "application/x-www-form-urlencoded; charset=utf-8" }, at)
  same(headers.authorization:match "Signature=(%x+)", "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7", "ListUsers")
  raises("unknown field 'regon'", aws.signer, { regon = "x" })
  raises("must be a string, not nil", aws.signer, { region = "x" })
end }
