-- note_events: writes events of one kind, as one row however many they are, in the transaction of the change.
-- In      type, items (one of all orders, or one for each; events without orders: one event each), orders or null, when
-- Out     nothing
-- Keeps   the events are committed if and only if the change is; they get their numbers later (number_events). None are written by a
--         connection with stampede.events = off
-- Locks   nothing

CREATE OR REPLACE FUNCTION note_events(p_type text, p_items bigint[], p_orders bigint[], p_at timestamptz) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('stampede.events', true) = 'off' THEN RETURN; END IF;
  INSERT INTO events (type, count, at, items, orders) VALUES (p_type, cardinality(coalesce(p_orders, p_items)), p_at, p_items, p_orders);
END
$$;
