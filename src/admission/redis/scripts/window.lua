-- window: admit, for each key, as many as its sliding window has room for; let an edge join.
-- KEYS     the keys' windows
-- ARGV     see lib.lua; burst is 0, units are whole requests
-- Returns  for each key: granted, rest (NONE FULL WAITS JOIN), ms until there is room
-- Keeps    in no window are more than `count` counted, what is kept back for edges that have not joined included. Up to 32 admissions of
--          a key are kept to the millisecond; beyond that, neighbours within a 32nd of the window age together with the youngest

local SLICES_MAX = 2 * SLICES + 1

-- What an edge reports when it joins is sorted in between.
local function join(slices, ask, now)
  for _, slice in ipairs(ask.slices) do
    if slice.age < ask.windowMs then slices[#slices + 1] = { at = now - slice.age, units = slice.units } end
  end
  table.sort(slices, function(a, b) return a.at < b.at end)
  while #slices > SLICES_MAX do
    local fewer = {}
    for i = 1, #slices, 2 do
      local one, next = slices[i], slices[i + 1]
      fewer[#fewer + 1] = next and { at = next.at, units = one.units + next.units } or one
    end
    slices = fewer
  end
  return slices
end

local function add(state, ask, units)
  local last = state.slices[#state.slices]
  if last and #state.slices >= SLICES and state.now - state.began < ask.windowMs / SLICES then
    last.units, last.at = last.units + units, state.now
  else
    state.slices[#state.slices + 1] = { at = state.now, units = units }
    state.began = state.now
  end
end

local function admit(state, ask, joining)
  if joining then
    state.slices = join(state.slices, ask, state.now)
  elseif ask.late > 0 then
    add(state, ask, ask.late)
  end
  local used = 0
  for _, slice in ipairs(state.slices) do used = used + slice.units end
  local room = math.max(0, ask.count - used)
  local granted = math.max(0, math.min(ask.want, room - ask.reserve))
  if granted > 0 then add(state, ask, granted) end
  local oldest = state.slices[1]
  local untilMs = oldest and math.max(1, oldest.at + ask.windowMs - state.now) or 1
  return granted, math.min(ask.want, room), untilMs
end

local asks = readAsks(1e9)
if not asks then return bug('window: wrong arguments') end
return decide(function(ask) return ask.windowMs end, admit)(asks)
