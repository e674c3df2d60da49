-- capture: money has arrived for a payment. It ends in a paid order, or is marked to go back. Never both, never neither.
-- In      provider, reference, amount and currency as the provider says, when (unix ms)
-- Out     one row: outcome (paid | same | late | second | wrong_amount | unknown) and the order's id and item where there is one
--           paid    pending → paid by this very call          same    this payment was captured before: nothing changed
--           late    the order was closed: refund due          second  the order was paid by another payment: refund due
--           wrong_amount  refused, nothing changed: alarm      unknown  no such payment
-- Keeps   promise 6: one compare-and-set on the order decides; at most one captured payment per order
-- Locks   the order, then the payment

CREATE FUNCTION capture(p_provider text, p_ref text, p_amount bigint, p_currency text, p_at_ms bigint)
RETURNS TABLE (outcome text, order_id bigint, item bigint) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  p     payments%ROWTYPE;
  o     orders%ROWTYPE;
  v_at  timestamptz := to_timestamp(p_at_ms / 1000.0);
BEGIN
  SELECT * INTO p FROM payments WHERE provider = p_provider AND ref = p_ref;
  IF NOT FOUND THEN
    RETURN QUERY SELECT 'unknown'::text, NULL::bigint, NULL::bigint;
    RETURN;
  END IF;
  SELECT * INTO o FROM orders WHERE id = p.order_id AND item = p.item FOR UPDATE;
  SELECT * INTO p FROM payments WHERE id = p.id FOR UPDATE;

  IF p.amount_minor <> p_amount OR p.currency <> p_currency THEN
    outcome := 'wrong_amount';
  ELSIF p.state IN ('captured', 'refund_due', 'refunded') THEN
    outcome := 'same';
  ELSIF o.state = 'pending' THEN
    UPDATE orders SET state = 'paid', paid_at = clock_timestamp(), version = version + 1 WHERE id = o.id AND item = o.item AND state = 'pending';
    UPDATE payments SET state = 'captured', captured_at = v_at WHERE id = p.id;
    outcome := 'paid';
  ELSE
    outcome := CASE o.state WHEN 'paid' THEN 'second' ELSE 'late' END;
    UPDATE payments SET state = 'refund_due', why = outcome, captured_at = v_at, tries = 0, next_try_at = clock_timestamp() WHERE id = p.id;
  END IF;
  RETURN QUERY SELECT outcome, p.order_id, p.item;
END
$$;
