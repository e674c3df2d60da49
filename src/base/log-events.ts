/**
 * Every event that the log can tell of, by the level of its line; a log call of another event or level does not compile. The names are
 * stable: rules of a log store may be built on them. The sentence says what follows; it is the reference's (docs/reference/logs.md).
 *
 * Levels. `error`: a person must look. `warn`: something outside failed, or an operator should know; it mends itself or is repeated.
 * `info`: what a process does in its life. `debug`: for whoever looks for a defect.
 */

export const LOG_EVENTS = {
  error: {
    redis_refused: 'A server of Redis is set so that it could lose orders; it is not used until that is corrected.',
    embedded_postgres_ended: 'The embedded PostgreSQL ended by itself, and is started again.',
    alarm: 'What should never happen, has; `alarm` names it. Each has an entry in the runbook.',
    answer_failed: 'A request was answered 500: a defect. `requestId` is in the answer too.',
    differences_found: 'Gate, outbox, ledger or payments disagreed; `repairs` says what was repaired.',
    older_epoch: 'PostgreSQL shows an older state than before: was it restored from a backup while processes ran?',
    clocks_disagree:
      'The clocks of Redis and PostgreSQL differ by more than a second; nothing is sold until they are set right.',
    drain_late: 'An item was not drained in time, and stays off sale; the line says what keeps it.',
    copies_unread:
      'The copies in Kafka could not be read to their end; the outbox alone decides that the item is drained.',
    gate_load_wrong:
      'What the gate shows is not what was loaded into it; the item is not opened. Look at who else writes to this Redis.',
    item_shut:
      'The gate is away with reservations that may be there alone; the item is not sold. The line says what to do.',
    not_released: 'The gate did not take units back; the release loop repeats it.',
    batch_not_placed: 'A batch could not be placed even alone: a defect, or a database that refuses writes.',
    refusal_not_stored: 'A refusal of a poisoned entry is not stored; its dead letter stays.',
    events_too_large: 'Events are larger than the topic allows; they are in the feed, not in Kafka.',
    events_missing: 'Events were deleted before they were copied to Kafka.',
    message_not_published: 'A message to other processes was not sent; they read the ledger.',
    offsets_gone:
      'Kafka deleted messages before they were read; reading goes on after them. The outbox still has what is unplaced.',
    alipay_certificate_refused:
      "Alipay's new certificate is not signed by its root, or is not valid now: check with Alipay.",
    stripe_refund_failed: 'Stripe could not give money back; give it to the buyer another way.',
    wechat_refund_failed: 'WeChat Pay could not give money back; handle it in the merchant platform.',
    answer_crashed: 'A request failed outside a handler: a defect. It was answered 500.',
    scrape_failed: '`/metrics` could not be answered: a defect.',
  },
  warn: {
    operator_refused:
      'Someone gave a wrong operator token; `refused` counts them. A run of them from one address is an attack.',
    rates_alone: 'Redis does not count: each edge holds its own part of every limit until it does.',
    keys_not_fetched: '`BUYER_JWKS_URL` did not answer; the keys fetched before stay good.',
    ledger_connection_broken: 'A connection to PostgreSQL ended; the pool opens another.',
    cluster_lapsed:
      'Processes of a cluster ended without giving back: what they acknowledged last may be refused. The line says what to do.',
    gates_late: 'The process takes traffic; some items go on sale when their gates are built.',
    start_without_redis: 'Redis did not answer at the start. The process starts, and connects when it does.',
    redis_too_few_replicas: 'Redis has fewer replicas than `REDIS_REPLICAS` asks for; nothing is acknowledged there.',
    start_without_kafka: 'Kafka did not answer at the start; reservations wait in the outbox.',
    stopped_with_reservations:
      'The process stopped with reservations that the ledger did not take in time; a worker places them from the outbox.',
    events_without_kafka: 'Kafka did not answer; events wait in the ledger and are copied later.',
    demo_not_made: 'The demo sale was not made, because the ledger did not answer.',
    demo_crowd_failed: 'The made-up crowd ended early; sales are not touched by it.',
    ledger_awaited: 'PostgreSQL does not answer yet; the process waits for it.',
    stopped_late: '`DRAIN_SECONDS` was too short to give everything back; leases lapse by themselves.',
    node_leased_anew: 'The lease of the node id could not be kept; a new number was taken.',
    code_not_warm: 'The rehearsal of the walk failed; the first orders are slower.',
    order_not_published: 'Other edges were not told of an order at once; they read it from the ledger.',
    callback_forged: 'A callback of a payment provider was not signed as it must be; `forged` counts them.',
    redis_away: 'Redis does not answer; `reason` says how it failed.',
    sign_in_unwritten: 'An operator signed in; the ledger did not answer, so the audit log does not show it.',
    sale_reopened: 'A sale that had its final report sells again; it gets another report at its end.',
    item_withdrawn: 'This process may not sell the item any more: its epoch was replaced.',
    handed_over: 'The gate was replaced: the reservations that this edge had acknowledged went to the ledger.',
    sale_not_published: 'Other processes were not told of a change of a sale at once; they read it from the ledger.',
    fence_differs: 'Processes have different `FENCE_MS`; the longest is waited for.',
    items_not_forgotten: 'The gate did not answer; settled sales are removed in the next round.',
    gate_task_failed: 'A step of building, draining or closing a gate failed; the next round starts over.',
    gate_not_opened: 'A gate could not be opened; the next round starts over.',
    older_process: 'A process of an older version knows no shards: the gate has one until the next rebuild.',
    sold_without_gate: 'The gate is away; edges place straight into the ledger.',
    beacon_not_fetched: "The beacon's round could not be fetched; the draw waits for it.",
    orders_not_closed: 'Unpaid orders could not be closed now; a later round repeats it.',
    cancel_not_checked: 'The provider did not say whether a cancelled payment was paid; it is asked again.',
    parcels_lost:
      'Contact or metadata of orders could not be written. The orders stand; before paying, their buyers are asked again.',
    payment_not_started: 'The provider did not start a payment; the buyer was told to try again.',
    refund_part_not_sent: "A refund's part was not sent; it is repeated.",
    provider_failed: 'A call to the payment provider failed; it is repeated.',
    dead_letter_not_copied: 'A dead letter is in the ledger; its copy in Kafka was not sent.',
    entries_copied_again:
      'Entries of the outbox are copied to Kafka again, because their copies are lost or were passed over.',
    entries_not_placed: 'Entries could not be placed; they stay in the outbox and are tried again.',
    entries_not_deleted: 'Orders are placed; their entries could not be deleted from the outbox yet.',
    messages_passed: 'Messages of an item that the ledger does not have any more were passed over.',
    deliveries_given_up:
      "A webhook's endpoint failed for too long; these deliveries end. They can be sent again by hand.",
    webhook_skips: 'Events were deleted before this webhook reached them.',
    alert_not_sent:
      'A channel could not be told of a trouble; it is tried again for a day. One line until it works again.',
    alerts_given_up: 'Alerts could not be told for a day, and are not tried again.',
    alert_past_ledger: 'The ledger is away, and this process tells it directly.',
    alert_test_unwritten: 'A test of alerts was sent; the ledger did not take its line in the log.',
    webhook_disabled: 'The endpoint answered that it is gone (410); the webhook is disabled.',
    message_unreadable: "A message on Redis' channel was not of this program; it was dropped.",
    embedded_postgres_unusual:
      'What is unusual about the embedded PostgreSQL or its folder; the line says what was done.',
    flight_not_dumped: 'The last decisions could not be written to the data folder.',
    full_page_writes_off: 'PostgreSQL can lose orders in a power cut. The line says what to set.',
    collation_changed: 'Indexes were built with another version of the collation. The line says what to run.',
    index_broken_off: 'An earlier build was broken off; it is dropped and begun again.',
    sandbox_callback_unheard: 'A callback of the sandbox was not acknowledged; the provider is asked instead.',
    sandbox_callbacks_full: 'Too many callbacks of the sandbox are pending.',
    sandbox_line_torn: "The last line of the sandbox's file was not whole, and never confirmed; it was dropped.",
    stripe_event_foreign: "An event of another mode or account: the webhook's secret belongs to another endpoint.",
    answered_error: 'An answer of 500 and above; each has a line.',
  },
  info: {
    rates_shared: 'Rate limits are counted over all edges again.',
    migration_awaited: 'Another process migrates the database; this one starts after it.',
    redis_in_use: 'A server of Redis that was set wrongly is right now, and in use.',
    keeper_stands_by: 'Another keeper leads; this one takes over when it is gone.',
    demo_crowd_started: 'Made-up buyers of the demo begin to ask.',
    starting: 'The process starts; `config` shows every setting, without secrets.',
    migrated: 'The database was brought to this version; `applied` names the migrations.',
    draining: 'The process was told to stop: it is unready, and answers what it has.',
    stopped: 'The last line of a process that ended in order.',
    flight_dumped: 'The last decisions of the process were written to this file: asked for, or because of an alarm.',
    node_leased: 'The process has a number of its own for the order ids it makes.',
    code_warm: 'The walk of a click was rehearsed, so that the first orders are as fast as later ones.',
    redis_back: 'Redis answers again.',
    sale_settled: 'The last report of a sale is written.',
    clocks_agree: 'The clocks agree again.',
    archived: 'Orders of a settled item moved into the archive.',
    item_draining: "The item's outbox is emptied before its door changes.",
    item_forgotten: 'The sale is over and settled; its state was removed from the gate.',
    shards_collapsed: 'Few units are left: the gate is built anew with one shard.',
    item_on_sale: 'The gate of the item is open under this epoch.',
    gate_back_early: 'The gate answered again before the item was sold without it.',
    line_drawn: 'The draw of a line was made.',
    move_void: 'A move of units between shards ended with its epoch; nothing was moved.',
    partitions_assigned: 'This process reads these partitions now.',
    indexes_missing: 'Indexes are built in the background, while orders are placed.',
    index_built: 'An index is built, in so many `seconds`.',
    embedded_postgres: 'What the embedded PostgreSQL did.',
    indexes_built: 'All indexes are there.',
    index_building: 'How far the build of an index is.',
    alipay_certificate_accepted: 'Alipay changed its certificate, and the new one is in use.',
    answered:
      'One sampled answer: one in a thousand cheap refusals, one in a hundred others. `route` is the template, never the address.',
  },
  debug: {
    item_followed: 'The process has heard of an item on sale, or of a new epoch or door of it.',
    provider_not_asked:
      'A buyer came back from the pay page, and the provider did not answer; it is asked again later.',
    units_moved: 'Units moved from a shard with units to one without.',
    messages_not_handled: "A batch of Kafka's messages was not handled; it is read again.",
    index_built_quickly: 'An index of a small table is built.',
    indexes_of_empty_tables: 'Indexes of empty tables were built at once.',
  },
} as const

/** What fails again and again has a line when it begins, a count while it lasts, and a line when it ends: `phase` says which (`outage-log.ts`). */
export const OUTAGE_EVENTS = {
  busy: 'Requests are answered `503 busy`; `code` says what is away.',
  unready: 'The readiness probe is answered 503.',
  live_unserved: 'Live sockets or messages to them failed.',
  node_not_renewed: 'The lease of the node id is not renewed; without it no order is taken.',
  gauges_unread: 'Some gauges are missing in the metrics.',
  outboxes_unread: 'The worker does not reach the outboxes; entries wait.',
  follow_failed: 'What this process knows of sales and gates is not renewed; `what` names the step.',
  page_notices_failed: 'The CDN or command that is told of changed pages does not take it.',
  placing_held: 'The ledger does not answer; reservations stay held and are placed when it does.',
  gate_silent: 'The gate does not answer batches; buyers are told to ask again.',
  ledger_silent: 'The ledger does not answer batches; buyers are told to ask again.',
  group_left: 'The process is not a member of its group in Kafka.',
  messages_not_fetched: 'Messages are not fetched from Kafka.',
  round_failed: 'A loop of the background failed; `loop` names it. The next round follows.',
  challenge_provider_failed: 'The provider of challenges does not answer; `CHALLENGE_WHEN_DOWN` says what holds.',
  traces_not_taken: 'The receiver of traces does not take them; they are dropped, and orders go on.',
  risk_silent: 'The risk hook does not answer; `RISK_ON_FAILURE` says what holds.',
} as const

export type LogEvent<Level extends keyof typeof LOG_EVENTS> = keyof (typeof LOG_EVENTS)[Level]
export type OutageEvent = keyof typeof OUTAGE_EVENTS
