-- window: admit, for each key, as many as its sliding window has room for; let an edge join.
-- KEYS     the keys' windows
-- ARGV     see lib.lua; burst is 0, units are whole requests
-- Returns  for each key: granted, rest (NONE FULL WAITS JOIN), ms until there is room
-- Keeps    in no window are more than `count` counted, what is kept back for edges that have not joined included. Up to 32 admissions of
--          a key are remembered to the millisecond; beyond, neighbours within a 32nd of the window age together with the youngest

local PIECES_MAX = 2 * PIECES + 1

-- What an edge tells when it joins lies between what is there already.
local function join(pieces, ask, now)
  for _, piece in ipairs(ask.pieces) do
    if piece.age < ask.windowMs then pieces[#pieces + 1] = { at = now - piece.age, units = piece.units } end
  end
  table.sort(pieces, function(a, b) return a.at < b.at end)
  while #pieces > PIECES_MAX do
    local fewer = {}
    for i = 1, #pieces, 2 do
      local one, next = pieces[i], pieces[i + 1]
      fewer[#fewer + 1] = next and { at = next.at, units = one.units + next.units } or one
    end
    pieces = fewer
  end
  return pieces
end

local function add(state, ask, units)
  local last = state.pieces[#state.pieces]
  if last and #state.pieces >= PIECES and state.now - state.began < ask.windowMs / PIECES then
    last.units, last.at = last.units + units, state.now
  else
    state.pieces[#state.pieces + 1] = { at = state.now, units = units }
    state.began = state.now
  end
end

local function admit(state, ask, joining)
  if joining then
    state.pieces = join(state.pieces, ask, state.now)
  elseif ask.late > 0 then
    add(state, ask, ask.late)
  end
  local used = 0
  for _, piece in ipairs(state.pieces) do used = used + piece.units end
  local room = math.max(0, ask.count - used)
  local granted = math.max(0, math.min(ask.want, room - ask.reserve))
  if granted > 0 then add(state, ask, granted) end
  local oldest = state.pieces[1]
  local untilMs = oldest and math.max(1, oldest.at + ask.windowMs - state.now) or 1
  return granted, math.min(ask.want, room), untilMs
end

local asks = readAsks(1e9)
if not asks then return bug('window: wrong arguments') end
return decide(function(ask) return ask.windowMs end, admit)(asks)
