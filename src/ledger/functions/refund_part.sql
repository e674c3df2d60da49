-- refund_part: an operator gives a part of a paid order's money back. A part that is all that is left is a refund of the whole order.
-- In      part (its id, also the idempotency key at the provider), order, item, amount, currency, restock, reason or NULL, by
-- Out     one row: outcome, refundable (what can still go back, in minor units of currency; NULL: nothing was captured). Outcomes:
--           part      the part is due                             refunded        it was all that is left: as refund_order does it
--           same      a part with this id was asked for before    not_paid        the order is not paid, or has no captured money
--           too_much, other_currency, too_many (parts), restock (units come back with the whole order only): nothing is written
--           unknown   there is no such order
-- Keeps   parts of a payment amount to less than what was captured: each is numbered behind the last one and holds the sum before it, under the
--         lock of the order, and the table's constraints refuse any other. A part leaves an event and a line in the operators' log
--         An order in the archive is brought back first
-- Locks   the item row first, then the order, then its payments

CREATE OR REPLACE FUNCTION refund_part(
  p_part bigint, p_order bigint, p_item bigint, p_amount bigint, p_currency text, p_restock boolean, p_reason text, p_by text
) RETURNS TABLE (outcome text, refundable bigint, currency text) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v      items%ROWTYPE;
  o      orders%ROWTYPE;
  p      payments%ROWTYPE;
  last   refund_parts%ROWTYPE;
  v_left bigint;
BEGIN
  SELECT * INTO v FROM items WHERE id = p_item FOR UPDATE;
  IF v.archive IS NOT NULL THEN PERFORM recall_orders(p_item, ARRAY[p_order], '{}'); END IF;
  SELECT * INTO o FROM orders WHERE id = p_order AND item = p_item FOR UPDATE;
  IF NOT FOUND THEN
    RETURN QUERY SELECT 'unknown'::text, NULL::bigint, NULL::text;
    RETURN;
  END IF;
  SELECT * INTO p FROM payments WHERE order_id = p_order AND state = 'captured' FOR UPDATE;
  SELECT * INTO last FROM refund_parts WHERE payment = p.id ORDER BY no DESC LIMIT 1;
  v_left := p.amount_minor - coalesce(last.before_minor + last.amount_minor, 0);
  IF EXISTS (SELECT 1 FROM refund_parts r WHERE r.id = p_part)
     -- One that was all that was left has no row of its own.
     OR EXISTS (SELECT 1 FROM audit_log a WHERE a.order_id = p_order AND a.action = 'order.refund' AND a.details ->> 'refund' = p_part::text) THEN
    outcome := 'same';
  ELSIF o.state <> 'paid' OR p.id IS NULL THEN
    outcome := 'not_paid';
  ELSIF p_currency <> p.currency THEN
    outcome := 'other_currency';
  ELSIF p_amount > v_left OR p_amount < 1 THEN
    outcome := 'too_much';
  ELSIF p_amount = v_left THEN
    PERFORM refund_order(p_order, p_item, p_restock);
    outcome := 'refunded';
  ELSIF p_restock THEN
    outcome := 'restock';
  ELSIF coalesce(last.no, 0) >= 100 THEN
    outcome := 'too_many';
  ELSE
    INSERT INTO refund_parts (id, payment, no, order_id, item, provider, ref, currency, captured_minor, before_minor, amount_minor, reason, by)
    VALUES (p_part, p.id, coalesce(last.no, 0) + 1, p_order, p_item, p.provider, p.ref, p.currency, p.amount_minor, p.amount_minor - v_left,
            p_amount, p_reason, p_by);
    IF current_setting('stampede.events', true) IS DISTINCT FROM 'off' THEN
      INSERT INTO events (type, items, orders, data)
      VALUES ('payment.refund_due', ARRAY[p_item], ARRAY[p_order], jsonb_build_object('id', p.id::text, 'provider', p.provider, 'ref', p.ref,
              'amount', p_amount, 'currency', p.currency, 'why', 'operator', 'part', p_part::text));
    END IF;
    outcome := 'part';
  END IF;
  IF outcome IN ('part', 'refunded') THEN
    v_left := v_left - p_amount;
    INSERT INTO audit_log (by, action, sale, item, order_id, details)
    VALUES (p_by, CASE outcome WHEN 'part' THEN 'order.refund_part' ELSE 'order.refund' END, v.sale, p_item, p_order,
            jsonb_strip_nulls(jsonb_build_object('refund', p_part::text, 'amount', p_amount, 'currency', p_currency, 'reason', p_reason,
                                                 'restock', CASE outcome WHEN 'refunded' THEN p_restock END)));
  END IF;
  RETURN QUERY SELECT outcome, v_left, p.currency;
END
$$;
