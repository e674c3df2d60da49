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

-- Of a hold (scripts hold, hold-keep, hold-load): keys are used (subject → units), holds (id → units|subject|…), ends (id → ms), read.
local HOLD_REST_MS = 86400000

-- A sale's keys end a day after its last hold.
local function lengthenHolds(keys, forMs)
  for _, key in ipairs(keys) do
    local left = redis.call('PTTL', key)
    if left ~= -2 and left < forMs + HOLD_REST_MS / 2 then redis.call('PEXPIRE', key, text(forMs + HOLD_REST_MS)) end
  end
end

local function dropHold(keys, id)
  local kept = redis.call('HGET', keys[2], id)
  redis.call('HDEL', keys[2], id)
  redis.call('ZREM', keys[3], id)
  if not kept then return end
  local units
  for part in kept:gmatch('[^|]+') do
    if not units then
      units = tonumber(part)
    elseif redis.call('HINCRBY', keys[1], part, -units) <= 0 then
      redis.call('HDEL', keys[1], part)
    end
  end
end

local function addHold(keys, id, units, now, forMs, subjects)
  for _, subject in ipairs(subjects) do redis.call('HINCRBY', keys[1], subject, units) end
  redis.call('HSET', keys[2], id, text(units) .. '|' .. table.concat(subjects, '|'))
  redis.call('ZADD', keys[3], text(now + forMs), id)
  lengthenHolds(keys, forMs)
end

-- A hold's id or subject: no character that separates them.
local function holdName(argument)
  return argument and #argument <= 64 and argument:find('^[%w_-]+$') and argument
end
