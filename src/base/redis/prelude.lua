-- prelude: what the scripts of all parts share; it is put before their own lib.lua.
-- Keeps    nothing is written here

-- A bug of the caller, found before the first write.
local function bug(message)
  return redis.error_reply('BUG ' .. message)
end

-- Lua prints large numbers with an exponent.
local function text(number)
  return string.format('%.0f', number)
end

local function serverMs()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end
