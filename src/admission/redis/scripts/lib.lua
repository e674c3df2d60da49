-- lib: what both scripts of the limits share; it is put before each of them.
-- ARGV     the first of both: now (0: the server's clock)
-- Keeps    everything is checked before the first write; every key has a lifetime

-- A whole number in these bounds, or nil.
local function whole(argument, min, max)
  if not argument or #argument > 15 or not argument:find('^%-?%d+$') then return nil end
  local number = tonumber(argument)
  if number >= min and number <= max then return number end
end

local function nowMs()
  local given = whole(ARGV[1], 0, 1e14)
  return given ~= 0 and given or serverMs()
end
