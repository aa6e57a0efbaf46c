-- Anthropic's Messages API: what the events of a stream and a whole message say. A part of `lgoose.llm`.

local core = ...

local add, text_of, call_at = core.add, core.text_of, core.call_at
local ipairs, pairs, type = ipairs, pairs, type

-- The field of a delta's text, and where it belongs.
local DELTAS = { text_delta = { "text", "text" }, thinking_delta = { "thinking", "reasoning" } }

local anthropic = {}

-- Notes the usage, which comes in parts, each with the sums so far. Cached tokens are counted beside `input_tokens`.
local function note_usage(result, usage)
  if type(usage) ~= "table" then return end
  result.usage = result.usage or {}
  for name, value in pairs(usage) do
    if value ~= json.null then result.usage[name] = value end
  end
end

-- Begins a block of the content.
local function begin_block(parts, place, block)
  if block.type == "text" then return add(parts, "text", block.text) end
  if block.type == "thinking" then return false, add(parts, "reasoning", block.thinking) end
  if block.type == "tool_use" then
    local call = call_at(parts, place)
    call.id, call.name = text_of(block.id), text_of(block.name)
    return true
  end
end

function anthropic.event(result, parts, event)
  local kind, place = event.type, event.index
  if kind == "content_block_start" and type(event.content_block) == "table" then
    parts.blocks[#parts.blocks + 1] = { given = event.content_block, place = place, pieces = {} }
    return begin_block(parts, place, event.content_block)
  elseif kind == "content_block_delta" and type(event.delta) == "table" then
    local delta, block = event.delta, parts.blocks[#parts.blocks]
    local fields = DELTAS[delta.type]
    if fields then
      local has_text = add(parts, fields[2], delta[fields[1]])
      if has_text and block then block.pieces[#block.pieces + 1] = delta[fields[1]] end
      if fields[2] == "reasoning" then return false, has_text end
      return has_text, false
    elseif delta.type == "input_json_delta" and type(delta.partial_json) == "string" then
      local call = call_at(parts, place)
      call.arguments = call.arguments .. delta.partial_json
      return delta.partial_json ~= "", false
    elseif delta.type == "signature_delta" and block then
      block.given.signature = delta.signature
    end
  elseif kind == "content_block_stop" and parts.calls[place] then
    local call = parts.calls[place]
    if call.arguments == "" then call.arguments = "{}" end
  elseif kind == "message_start" and type(event.message) == "table" then
    result.id = text_of(event.message.id)
    note_usage(result, event.message.usage)
  elseif kind == "message_delta" then
    note_usage(result, event.usage)
    if type(event.delta) == "table" then result.finish_reason = text_of(event.delta.stop_reason) or result.finish_reason end
  elseif kind == "message_stop" then
    result.is_over = true
  end
  return false, false
end

function anthropic.is_last(result) return result.is_over end

function anthropic.incomplete(result)
  if not result.is_over then return "the stream ended without message_stop" end
end

function anthropic.whole(result, parts, value)
  if type(value.content) ~= "table" then return false end
  for place, block in ipairs(value.content) do
    if type(block) == "table" then
      begin_block(parts, place - 1, block)
      if block.type == "tool_use" then call_at(parts, place - 1).arguments = json.encode(block.input or {}) end
    end
  end
  result.content = value.content
  result.id, result.finish_reason = text_of(value.id), text_of(value.stop_reason)
  note_usage(result, value.usage)
  return true
end

-- Returns the message that continues the conversation: its blocks as they came, with what was added to them.
function anthropic.message(result, parts)
  local content = result.content
  if not content then
    content = json.array {}
    for at, block in ipairs(parts.blocks) do
      local given = block.given
      local field = given.type == "text" and "text" or given.type == "thinking" and "thinking"
      if field then
        given[field] = (text_of(given[field]) or "") .. table.concat(block.pieces)
      elseif given.type == "tool_use" then
        local ok, input = pcall(json.decode, call_at(parts, block.place).arguments)
        if ok then given.input = input end
      end
      content[at] = given
    end
  end
  result.content = nil
  return { role = "assistant", content = content }
end

return anthropic
