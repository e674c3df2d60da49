-- keep_payment_page: what the provider has answered to a start, before the buyer sees it.
-- In      payment, handle or null, pay_url or null, qr or null, whether the provider gave it just now
-- Out     one row: its state. A payment that is not started any more must not be shown to the buyer
-- Keeps   the handle is kept whatever the state: a refund of late money needs it. A start clears the decline of an earlier try;
--         a stored page that is shown once more gets no younger
UPDATE payments SET handle = coalesce($2, handle), pay_url = $3, qr = $4, page_at = CASE WHEN $5::boolean THEN clock_timestamp() ELSE page_at END,
  declined_at = CASE WHEN state = 'started' THEN NULL ELSE declined_at END
WHERE id = $1
RETURNING state
