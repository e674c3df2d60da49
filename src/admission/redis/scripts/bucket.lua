-- bucket: admit, for each key, as many as are left in its bucket; let an edge join.
-- KEYS     the keys' buckets: one slice each, what is used up in thousandths, as of its time
-- ARGV     see lib.lua; burst is what the bucket holds, units that join are thousandths
-- Returns  for each key: granted, rest (NONE FULL WAITS JOIN), ms until one is left
-- Keeps    never more than `burst` used up, what is kept back for edges that have not joined included; `count` flow back over `windowMs`

local THOUSAND = 1000

-- How long an empty bucket takes to fill; no longer than the window.
local function spanOf(ask)
  return math.ceil(ask.burst * ask.windowMs / ask.count)
end

local function admit(state, ask, joining)
  local perMs = ask.count * THOUSAND / ask.windowMs
  local last = state.slices[1]
  local used = last and math.max(0, last.units - (state.now - last.at) * perMs) or 0
  if joining then
    for _, slice in ipairs(ask.slices) do used = used + math.max(0, slice.units - slice.age * perMs) end
  else
    used = used + ask.late * THOUSAND
  end
  used = math.min(used, ask.burst * THOUSAND)
  local room = ask.burst - used / THOUSAND
  local granted = math.max(0, math.min(ask.want, math.floor(room - ask.reserve)))
  local short = used + (granted + 1 - ask.burst) * THOUSAND
  -- Written only when something was taken: rounding up at every call would keep a slow bucket from ever being full.
  if granted > 0 or joining or ask.late > 0 then
    state.slices = { { at = state.now, units = math.ceil(used + granted * THOUSAND) } }
  end
  return granted, math.min(ask.want, math.floor(room)), math.max(1, math.ceil(short / perMs))
end

local asks = readAsks(1e12)
if not asks then return bug('bucket: wrong arguments') end
for _, ask in ipairs(asks) do
  if ask.burst < 1 or ask.burst > ask.count then return bug('bucket: wrong burst') end
end
return decide(spanOf, admit)(asks)
