-- Prompts and conversations: those of a file, or made of random words. A part of `lgoose.llm`.

local core = ...

-- Returns a text that is not empty; JSON's null is not one.
local function text_of(value) return type(value) == "string" and value ~= "" and value or nil end

local floor, max, kind_of = math.floor, math.max, math.type
local concat, error, ipairs, type = table.concat, error, ipairs, type

local prompts = {}

local function words(text)
  local _, count = text:gsub("%S+", "")
  return count
end

-- The words of generated prompts: each is one token for most models, with the space before it.
local VOCABULARY = [[
  the of and to in is that for it was on are as with at be this have from or had by not but what all were when we there can an your
  which their said if do will each about how up out them then she many some so these would other into has more her two like him see
  time could no make than first been its who now people my made over did down only way find use may water long little very after words
  called just where most know get through back much before go good new write our used me man too any day same right look think also
  around another came come work three word must because does part even place well such here take why things help put years different
  away again off went old number great tell men say small every found still between name should home big give air line set own under]]

-- The words one by one, once a prompt is made.
local vocabulary

-- Returns a number around another, from the user's own random numbers.
local function around(tokens, spread)
  if spread == 0 then return tokens end
  return max(1, floor(tokens * (1 + spread * (2 * random.float() - 1)) + 0.5))
end

local function made_text(options)
  if not vocabulary then
    vocabulary = {}
    for word in VOCABULARY:gmatch "%a+" do vocabulary[#vocabulary + 1] = word end
  end
  local list = {}
  for at = 1, around(options.input_tokens, options.spread or 0) do list[at] = random.choice(vocabulary) end
  return concat(list, " ")
end

-- Returns a turn of random words.
local function made_turn(options)
  local text = made_text(options)
  local output = options.output_tokens and around(options.output_tokens, options.spread or 0)
  return { messages = { { role = "user", content = text } }, text = text, output_tokens = output }
end

local ROLES = { human = "user", user = "user", system = "system", developer = "system", gpt = "assistant", chatgpt = "assistant", assistant = "assistant" }

-- Returns the turns of a conversation: the messages since the reply before, and the reply, nil if there is none.
local function turns_of(list, role_of, content_of)
  local turns, messages, has_question = {}, {}, false
  for _, one in ipairs(list) do
    local role, content = ROLES[one[role_of]], one[content_of]
    if role == "assistant" then
      if has_question then
        turns[#turns + 1] = { messages = messages, reply = content }
        messages, has_question = {}, false
      end
    elseif role then
      messages[#messages + 1] = { role = role, content = content }
      has_question = has_question or role == "user"
    end
  end
  if has_question then turns[#turns + 1] = { messages = messages } end
  return turns
end

-- Returns all messages before a last reply, and that reply.
local function whole_chat(given)
  local messages = json.copy(given)
  local last = messages[#messages]
  if last and last.role == "assistant" then
    messages[#messages] = nil
    return #messages > 0 and messages or nil, last.content
  end
  return last and messages
end

-- Returns the number of tokens to request: the row's, else as many as its reply has words.
local function tokens_for(row, reply)
  return kind_of(row.output_tokens) == "integer" and row.output_tokens or text_of(reply) and words(reply) or nil
end

-- Returns the prompt of a row, or nil if it has none.
local function prompt_of(row)
  local messages, reply = nil, nil
  if type(row) == "string" then row = { prompt = row } end
  if type(row) ~= "table" then return nil end
  if type(row.conversations) == "table" then
    local first = turns_of(row.conversations, "from", "value")[1]
    if first then messages, reply = first.messages, first.reply end
  elseif type(row.messages) == "table" then
    messages, reply = whole_chat(row.messages)
  else
    local text = text_of(row.prompt) or text_of(row.text)
    messages = text and { { role = "user", content = text } }
  end
  if not messages then return nil end
  local texts = {}
  for _, message in ipairs(messages) do texts[#texts + 1] = text_of(message.content) end
  return { messages = messages, text = concat(texts, "\n"), output_tokens = tokens_for(row, reply) }
end

-- Returns the turns of a row's conversation, or nil if it has none.
local function conversation_of(row)
  if type(row) ~= "table" then return nil end
  local turns = type(row.conversations) == "table" and turns_of(row.conversations, "from", "value")
    or type(row.messages) == "table" and turns_of(row.messages, "role", "content")
    or {}
  for _, turn in ipairs(turns) do turn.output_tokens = tokens_for(row, turn.reply) end
  return turns[1] and turns
end

local function made_conversation(options)
  local turns = {}
  for at = 1, options.turns or 3 do turns[at] = made_turn(options) end
  return turns
end

-- Iterates over the turns of a conversation. Each has all messages so far: those of the plan's answers, or of the data set.
local function iterate(turns)
  local at, history, given = 0, {}, nil
  return function()
    local before = turns[at]
    if before then
      local reply = given or before.reply and { role = "assistant", content = before.reply }
      if reply then history[#history + 1] = reply end
    end
    at, given = at + 1, nil
    local turn = turns[at]
    if not turn then return nil end
    for _, message in ipairs(turn.messages) do history[#history + 1] = message end
    return {
      number = at,
      last = at == #turns,
      messages = history,
      output_tokens = turn.output_tokens,
      reply = function(_, answer) given = answer.ok and answer.message or given end,
    }
  end
end

-- Returns a function for the rows of a file that are of use.
local function from_rows(options, owner, what, of_row, level)
  local is_lines = options.file:find "%.jsonl$" or options.file:find "%.jsonl%.gz$"
  local read = is_lines and data.jsonl or data.json
  local rows = read(options.file, { order = options.order or "circular" })
  return function()
    for _ = 1, #rows do
      local found = of_row(rows:next())
      if found then return found end
    end
    error(("%s: no row of '%s' has %s"):format(owner, options.file, what), level)
  end
end

-- Checks the options for prompts or conversations.
local function check_source(owner, options, fields)
  if type(options) ~= "table" then error(owner .. " takes a table, such as { input_tokens = 512 }", 4) end
  local function refuse(field, what) error(("%s: option '%s' must be %s"):format(owner, field, what), 5) end
  core.refuse_unknown(owner, "option", options, fields, 5)
  if (options.file == nil) == (options.input_tokens == nil) then
    error(owner .. " takes either a 'file' or a number of 'input_tokens'", 4)
  end
  if options.file ~= nil and type(options.file) ~= "string" then refuse("file", "the name of a file") end
  for _, field in ipairs { "input_tokens", "output_tokens", "turns" } do
    local count = options[field]
    if count ~= nil and (kind_of(count) ~= "integer" or count < 1) then refuse(field, "a whole number from 1 on") end
  end
  local spread = options.spread or 0
  if type(spread) ~= "number" or not (spread >= 0 and spread <= 1) then refuse("spread", "a number from 0 to 1") end
end

function prompts.prompts(options)
  check_source("llm.prompts", options, "file, order, input_tokens, output_tokens, spread")
  if not options.file then return function() return made_turn(options) end end
  return from_rows(options, "llm.prompts", "a prompt: 'conversations', 'messages', 'prompt' or 'text'", prompt_of, 2)
end

function prompts.conversations(options)
  check_source("llm.conversations", options, "file, order, input_tokens, output_tokens, spread, turns")
  local next_turns = options.file and from_rows(options, "llm.conversations", "a conversation: 'conversations' or 'messages'", conversation_of, 3)
    or function() return made_conversation(options) end
  return function()
    local turns = next_turns()
    return { turns = function() return iterate(turns) end }
  end
end

return prompts
