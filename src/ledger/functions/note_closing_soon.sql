-- note_closing_soon: writes order.closing_soon for the pending orders whose time to pay ends soon.
-- In      how long before its end (ms), how many orders about
-- Out     how many orders it wrote
-- Keeps   once for each order: event_head.closing_soon is the end of the time to pay up to which all are written, and moves in the same
--         transaction. An order with less than twice that time to pay gets none: so no order is placed, however late it commits, behind the mark
-- Locks   event_head, if there is something to write

CREATE OR REPLACE FUNCTION note_closing_soon(p_before_ms bigint, p_max int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  v_before interval := p_before_ms * interval '1 millisecond';
  v_from   timestamptz;
  v_until  timestamptz;
  v_to     timestamptz;
  v_orders bigint[];
  v_items  bigint[];
BEGIN
  SELECT greatest(h.closing_soon, clock_timestamp()), clock_timestamp() + v_before INTO v_from, v_until FROM event_head h;
  PERFORM 1 FROM orders
  WHERE state = 'pending' AND pay_by > v_from AND pay_by <= v_until AND pay_by - placed_at >= 2 * v_before LIMIT 1;
  IF NOT FOUND THEN RETURN 0; END IF;
  SELECT greatest(h.closing_soon, clock_timestamp()) INTO v_from FROM event_head h FOR UPDATE;
  SELECT array_agg(o.id ORDER BY o.pay_by, o.id), array_agg(o.item ORDER BY o.pay_by, o.id), max(o.pay_by) INTO v_orders, v_items, v_to
  FROM (
    SELECT id, item, pay_by FROM orders
    WHERE state = 'pending' AND pay_by > v_from AND pay_by <= v_until AND pay_by - placed_at >= 2 * v_before
    -- Orders that were placed together end together: none of them is left behind the mark.
    ORDER BY pay_by FETCH FIRST p_max ROWS WITH TIES) o;
  IF v_orders IS NULL THEN RETURN 0; END IF;
  PERFORM note_events('order.closing_soon', v_items, v_orders, clock_timestamp());
  UPDATE event_head SET closing_soon = v_to;
  RETURN cardinality(v_orders);
END
$$;
