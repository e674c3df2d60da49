-- refuse_order: a reservation that can't be placed for a reason of its own becomes an order that is closed/refused.
-- In      item, epoch, order id, buyer, attempt, quantity, reserved at (unix ms)
-- Out     the order under this id, as it was if it existed; no row if the id is another buyer's or there is no such item
-- Keeps   the same id again has no second effect; E7: a refusal names the order in its way, and never blocks it. A new refusal leaves an event
-- Locks   the item row first, then orders

CREATE OR REPLACE FUNCTION refuse_order(
  p_item bigint, p_epoch bigint, p_id bigint, p_buyer text, p_attempt int, p_quantity int, p_reserved_ms bigint
) RETURNS SETOF orders LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v        items%ROWTYPE;
  v_now    timestamptz;
  o        orders%ROWTYPE;
  standing bigint;
BEGIN
  SELECT * INTO v FROM items WHERE id = p_item FOR UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  IF v.archive IS NOT NULL THEN PERFORM recall_orders(p_item, ARRAY[p_id], ARRAY[p_buyer]); END IF;
  SELECT * INTO o FROM orders WHERE id = p_id AND item = p_item;
  IF FOUND THEN
    IF o.buyer = p_buyer THEN RETURN NEXT o; END IF;
    RETURN;
  END IF;
  SELECT id INTO standing FROM orders
  WHERE buyer = p_buyer AND item = p_item AND reason IS DISTINCT FROM 'refused' AND (attempt = p_attempt OR state <> 'closed')
  ORDER BY state <> 'closed' DESC LIMIT 1;
  v_now := clock_timestamp();
  INSERT INTO orders (id, item, buyer, attempt, quantity, price_minor, currency, state, reason, superseded_by, epoch,
                      reserved_at, placed_at, closed_at)
  VALUES (p_id, p_item, p_buyer, greatest(p_attempt, 1), greatest(p_quantity, 1), v.price_minor, v.currency, 'closed', 'refused',
          standing, p_epoch, to_timestamp(p_reserved_ms / 1000.0), v_now, v_now)
  RETURNING * INTO o;
  PERFORM note_events('order.closed', ARRAY[p_item], ARRAY[p_id], v_now);
  RETURN NEXT o;
END
$$;
