-- note_closing_soon: writes order.closing_soon for the pending orders whose time to pay ends soon.
-- In      how long before its end (ms), how many orders about
-- Out     how many orders it looked at; as many as were asked for: there may be more
-- Keeps   once for each order: event_head.closing_soon is the end of the time to pay up to which all were looked at, and moves in the same
--         transaction. An order with less than twice that time to pay gets none, and moves the mark too: it is not looked at again. The mark is
--         never further ahead than the time asked for, so an order that gets one is placed at least as long before the mark reaches its end
-- Locks   event_head, if there is an order to look at

CREATE OR REPLACE FUNCTION note_closing_soon(p_before_ms bigint, p_max int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  v_before interval := p_before_ms * interval '1 millisecond';
  v_from   timestamptz;
  v_until  timestamptz;
  v_to     timestamptz;
  v_orders bigint[];
  v_items  bigint[];
  v_looked int;
BEGIN
  SELECT greatest(h.closing_soon, clock_timestamp()), clock_timestamp() + v_before INTO v_from, v_until FROM event_head h;
  PERFORM 1 FROM orders WHERE state = 'pending' AND pay_by > v_from AND pay_by <= v_until ORDER BY pay_by LIMIT 1;
  IF NOT FOUND THEN RETURN 0; END IF;
  SELECT greatest(h.closing_soon, clock_timestamp()) INTO v_from FROM event_head h FOR UPDATE;
  SELECT count(*), max(o.pay_by), array_agg(o.id ORDER BY o.pay_by, o.id) FILTER (WHERE o.told),
         array_agg(o.item ORDER BY o.pay_by, o.id) FILTER (WHERE o.told)
  INTO v_looked, v_to, v_orders, v_items
  FROM (
    SELECT id, item, pay_by, pay_by - placed_at >= 2 * v_before AS told FROM orders
    WHERE state = 'pending' AND pay_by > v_from AND pay_by <= v_until
    -- Orders that were placed together end together: none of them is left behind the mark.
    ORDER BY pay_by FETCH FIRST p_max ROWS WITH TIES) o;
  IF v_looked = 0 THEN RETURN 0; END IF;
  IF v_orders IS NOT NULL THEN PERFORM note_events('order.closing_soon', v_items, v_orders, clock_timestamp()); END IF;
  UPDATE event_head SET closing_soon = v_to;
  RETURN v_looked;
END
$$;
