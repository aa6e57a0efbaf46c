-- OpenAI's Responses API: what the events of a stream and a whole response say. A part of `lgoose.llm`.

local core = ...

local add, text_of, call_at = core.add, core.text_of, core.call_at
local ipairs, type = ipairs, type

-- Where the text of an event with a delta belongs.
local DELTAS = {
  ["response.output_text.delta"] = "text",
  ["response.refusal.delta"] = "refusal",
  ["response.reasoning_text.delta"] = "reasoning",
  ["response.reasoning_summary_text.delta"] = "reasoning",
}

-- The last events of a response.
local ENDS = { ["response.completed"] = true, ["response.incomplete"] = true, ["response.failed"] = true, ["response.cancelled"] = true }

local responses = {}

-- Notes what a response says of itself.
local function note(result, response)
  result.id = text_of(response.id) or result.id
  if type(response.usage) == "table" then result.usage = response.usage end
  if type(response.output) == "table" and #response.output > 0 then result.output = response.output end
  local status, details = text_of(response.status), response.incomplete_details
  if status == "failed" or status == "cancelled" then return "the response has " .. (status == "failed" and "failed" or "been cancelled") end
  if status == "completed" then
    result.finish_reason = "stop"
  elseif status == "incomplete" then
    result.finish_reason = type(details) == "table" and text_of(details.reason) or "incomplete"
  end
end

-- Adds a call of a tool, of which parts may have come.
local function add_call(parts, place, item)
  local call = call_at(parts, place)
  call.id, call.name = text_of(item.call_id) or call.id, text_of(item.name) or call.name
  local input = text_of(item.arguments) or text_of(item.input)
  if input then call.arguments = input end
end

local function is_call(item) return type(item) == "table" and (item.type == "function_call" or item.type == "custom_tool_call") end

function responses.event(result, parts, event)
  local kind = event.type
  local field = DELTAS[kind]
  if field then
    local has_text = add(parts, field, event.delta)
    if field == "reasoning" then return false, has_text end
    return has_text, false
  end
  if kind == "response.function_call_arguments.delta" or kind == "response.custom_tool_call_input.delta" then
    local call = call_at(parts, event.output_index)
    if type(event.delta) == "string" then call.arguments = call.arguments .. event.delta end
    return true, false
  end
  if kind == "response.output_item.added" or kind == "response.output_item.done" then
    if is_call(event.item) then add_call(parts, event.output_index, event.item) end
  elseif kind == "error" then
    return false, false, text_of(event.message) or "error"
  elseif type(event.response) == "table" then
    local problem = note(result, event.response)
    result.is_over = ENDS[kind]
    return false, false, problem
  end
  return false, false
end

function responses.is_last(result) return result.is_over end

function responses.incomplete(result)
  if not result.is_over then return "the stream ended without response.completed" end
end

-- Reads a whole response; returns whether it is one, and why it has failed.
function responses.whole(result, parts, value)
  if type(value.output) ~= "table" then return false end
  for place, item in ipairs(value.output) do
    if is_call(item) then
      add_call(parts, place - 1, item)
    elseif type(item) == "table" and (item.type == "message" or item.type == "reasoning") then
      for _, list in ipairs { "content", "summary" } do
        for _, part in ipairs(type(item[list]) == "table" and item[list] or {}) do
          add(parts, item.type == "reasoning" and "reasoning" or "text", part.text)
          add(parts, "refusal", part.refusal)
        end
      end
    end
  end
  return true, note(result, value)
end

return responses
