-- Vectors for texts, as OpenAI's API has them. A part of `lgoose.llm`.

local ipairs, pcall, type = ipairs, pcall, type
local unpack = string.unpack

local embeddings = {}

-- Returns a vector: a list of numbers, or floats of four bytes in base64.
local function vector_of(item)
  local vector = type(item) == "table" and item.embedding
  if type(vector) ~= "string" then return type(vector) == "table" and vector or nil end
  local ok, bytes = pcall(base64.decode, vector)
  if not ok or #bytes % 4 ~= 0 then return nil end
  local numbers = {}
  for place = 1, #bytes // 4 do numbers[place] = (unpack("<f", bytes, place * 4 - 3)) end
  return numbers
end

-- Reads a whole response; returns whether it is one.
function embeddings.whole(result, _, value)
  if type(value.usage) == "table" then result.usage = value.usage end
  if type(value.data) ~= "table" then return false end
  result.embeddings = {}
  for at, item in ipairs(value.data) do
    local vector = vector_of(item)
    if not vector then return false end
    result.embeddings[at] = vector
  end
  return #value.data > 0
end

return embeddings
