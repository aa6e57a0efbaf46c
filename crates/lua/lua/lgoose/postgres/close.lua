-- The end of a connection. A part of `lgoose.postgres`.

local core = ...

return function(db)
  if db.ok and not db.is_in_use then db.socket:send(core.keep("messages").message("X", "")) end
  db.socket:close()
  db.ok = false
  db.error = db.error or "closed early: the plan has closed the connection"
end
