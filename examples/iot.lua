-- Shows a fleet of devices over MQTT: each user is a device that reports its state at a pace and carries out commands meanwhile.

local mqtt = require "lgoose.mqtt"

local PACE = tonumber(env("PACE", "10"))

plan { host = "http://127.0.0.1:1883", users = 20, hatch_rate = 10, run_time = "1m", thresholds = { ["MQTT telemetry"] = "p99 < 500ms" } }

scenario { "device",
  task { "switch on", on_start = true, function(user)
    local device = mqtt.connect(user, { client_id = "device-" .. user.id, will = { topic = "lost/" .. user.id, qos = 1 } })
    if not device:subscribe("commands/" .. user.id, { qos = 1 }) then user:stop() end
    user.data.device = device
  end },
  task { "report", function(user)
    local device, due = user.data.device, run.elapsed() + PACE
    device:publish("telemetry/" .. user.id, { temperature = random.int(180, 250) / 10 }, { qos = 1, name = "telemetry" })
    -- The device is at work until the next report.
    while run.elapsed() < due do
      local command, reason = device:receive(due - run.elapsed())
      if command then
        device:publish("done/" .. user.id, command.payload, { qos = 1, name = "done" })
      elseif reason ~= "timeout" then
        user:stop()
      end
    end
  end },
  task { "switch off", on_stop = true, function(user) user.data.device:disconnect() end },
}

scenario { "operator", users = 1,
  task { "log in", on_start = true, function(user) user.data.client = mqtt.connect(user, { version = 5 }) end },
  task { "command", wait = { 0.5, 1 }, function(user)
    user.data.client:publish("commands/" .. random.int(1, run.users()), "blink", { qos = 1, name = "command" })
  end },
  task { "log out", on_stop = true, function(user) user.data.client:disconnect() end },
}

-- lgoose examples/iot.lua -H http://127.0.0.1:1883 -u 1000 -r 100
