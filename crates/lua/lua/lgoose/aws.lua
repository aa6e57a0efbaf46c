---Signatures of requests for services of AWS and compatible ones (Signature Version 4).
---
---    local aws = require "lgoose.aws"
---    local sign = aws.signer { region = "eu-central-1", service = "s3", key = env "AWS_ACCESS_KEY_ID", secret = env "AWS_SECRET_ACCESS_KEY" }
---    user:get("/bucket/key", { headers = sign("GET", user.host .. "/bucket/key") })
---@class lgoose.aws
local aws = {}

---@class lgoose.aws.Credentials
---@field region string
---@field service string # such as "s3", "execute-api"
---@field key string # the id of the access key
---@field secret string # the secret access key
---@field token? string # the session token of temporary credentials

local FIELDS = { region = true, service = true, key = true, secret = true, token = false }

-- Each part of a path is encoded once more, but for S3.
local function canonical_path(path, service)
  if service == "s3" then return path end
  return (path:gsub("[^/]+", url.encode))
end

local function canonical_query(query)
  local pairs_of = {}
  for name, values in pairs(query) do
    for _, value in ipairs(type(values) == "table" and values or { values }) do
      pairs_of[#pairs_of + 1] = { url.encode(name), url.encode(value) }
    end
  end
  table.sort(pairs_of, function(a, b) return a[1] == b[1] and a[2] < b[2] or a[1] < b[1] end)
  for at, pair in ipairs(pairs_of) do pairs_of[at] = pair[1] .. "=" .. pair[2] end
  return table.concat(pairs_of, "&")
end

---Returns a function that signs requests: it takes the method, the whole URL, the body and other headers to sign, and returns all
---headers that the request needs.
---@param credentials lgoose.aws.Credentials
---@return fun(method: string, url: string, body?: string, headers?: table<string, string>, seconds?: number): table<string, string>
function aws.signer(credentials)
  for name in pairs(credentials) do
    if FIELDS[name] == nil then error("aws.signer: unknown field '" .. tostring(name) .. "'; fields: key, region, secret, service, token", 2) end
  end
  for name, needed in pairs(FIELDS) do
    if needed and type(credentials[name]) ~= "string" then error("aws.signer: field '" .. name .. "' must be a string, not " .. type(credentials[name]), 2) end
  end
  local region, service = credentials.region, credentials.service
  local day, key = nil, nil
  return function(method, address, body, headers, seconds)
    local now = time.format("%Y%m%dT%H%M%SZ", seconds)
    local parts, digest = url.parse(address), hash.sha256(body or "")
    local default = parts.scheme == "https" and 443 or 80
    local host = parts.port == default and parts.host or parts.host .. ":" .. parts.port
    local result = { ["x-amz-date"] = now, ["x-amz-security-token"] = credentials.token }
    if service == "s3" then result["x-amz-content-sha256"] = digest end
    for name, value in pairs(headers or {}) do result[name:lower()] = value end
    local signed = { host = host }
    for name, value in pairs(result) do signed[name] = value end
    local names, lines = {}, {}
    for name in pairs(signed) do names[#names + 1] = name end
    table.sort(names)
    for _, name in ipairs(names) do
      lines[#lines + 1] = name .. ":" .. signed[name]:gsub("^%s+", ""):gsub("%s+$", ""):gsub("%s+", " ")
    end
    local list = table.concat(names, ";")
    local request = table.concat({
      method:upper(), canonical_path(parts.path, service), canonical_query(parts.query), table.concat(lines, "\n") .. "\n", list, digest,
    }, "\n")
    local scope = table.concat({ now:sub(1, 8), region, service, "aws4_request" }, "/")
    local text = table.concat({ "AWS4-HMAC-SHA256", now, scope, hash.sha256(request) }, "\n")
    if day ~= now:sub(1, 8) then
      day, key = now:sub(1, 8), "AWS4" .. credentials.secret
      for _, part in ipairs { day, region, service, "aws4_request" } do key = hash.hmac_sha256(key, part, "raw") end
    end
    result.authorization = ("AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%s"):format(
      credentials.key, scope, list, hash.hmac_sha256(key, text))
    return result
  end
end

return aws
