-- The opening of a stream, which takes the place of a response. A part of the prelude.

local note_stream, END_STREAM = ...
local yield = yield

return function(stream)
  note_stream(stream)
  if stream.status == 0 then yield(END_STREAM, stream) end
  return stream
end
