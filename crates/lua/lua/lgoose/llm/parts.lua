-- The parts of a response of a language model as they come. A part of `lgoose.llm`.

local kind_of, type = math.type, type

local parts = {}

-- Returns the parts of a response of which nothing has come.
function parts.new() return { text = {}, reasoning = {}, refusal = {}, calls = {}, blocks = {} } end

-- Returns a text that is not empty; JSON's null is not one.
function parts.text_of(value) return type(value) == "string" and value ~= "" and value or nil end

-- Adds a text to those of a response; returns whether there is one.
function parts.add(all, field, text)
  if type(text) ~= "string" or text == "" then return false end
  local list = all[field]
  list[#list + 1] = text
  return true
end

-- Returns the call of a tool at that place of the response.
function parts.call_at(all, place)
  local at = kind_of(place) == "integer" and place or 0
  local call = all.calls[at]
  if not call then
    call = { type = "function", arguments = "" }
    all.calls[at] = call
  end
  return call
end

return parts
