-- Shows a conversation with a language model: each question goes with all that came before it, and each turn is a row of its own.

local llm = require "lgoose.llm"

plan { host = "demo:llm", users = 3, run_time = "10s" }

local QUESTIONS = { "What is a goose?", "And a gander?", "How many are a gaggle?" }

task { "three questions", wait = 1, function(user)
  local messages = { { role = "system", content = "Answer in one sentence." } }
  for turn, question in ipairs(QUESTIONS) do
    messages[#messages + 1] = { role = "user", content = question }
    local answer = llm.chat(user, { model = "demo-fast", messages = messages, max_tokens = 16, name = "turn " .. turn })
    if not answer.ok then return end
    messages[#messages + 1] = { role = "assistant", content = answer.text }
    user:wait(0.1, 0.3)
  end
end }

-- lgoose examples/conversation.lua
