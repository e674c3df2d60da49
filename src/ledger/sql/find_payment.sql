-- find_payment: a payment by its provider's reference.
-- In      provider, reference
-- Out     one payment row or none
SELECT id, order_id, item, provider, ref, amount_minor, currency, state, why, started_at, captured_at, refunded_at, tries,
       method, handle, pay_url, qr, page_at, ended, declined_at
FROM all_payments WHERE provider = $1 AND ref = $2
