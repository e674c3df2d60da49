-- lib: what both scripts of the limits share; it is put before each of them.
-- KEYS     none of its own
-- ARGV     none of its own; the first of both: now (0: the server's clock)
-- Returns  nothing
-- Keeps    everything is checked before the first write; every key has a lifetime

-- A bug of the caller, found before the first write.
local function bug(message)
  return redis.error_reply('BUG ' .. message)
end

-- Lua prints large numbers with an exponent.
local function text(number)
  return string.format('%.0f', number)
end

-- A whole number in these bounds, or nil.
local function whole(argument, min, max)
  if not argument or #argument > 15 or not argument:find('^%-?%d+$') then return nil end
  local number = tonumber(argument)
  if number >= min and number <= max then return number end
end

local function nowMs()
  local given = whole(ARGV[1], 0, 1e14)
  if given ~= 0 then return given end
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end
