/** Every text of the waiting line, in English and Chinese. */

const en = {
  line: 'Waiting line',
  labels: {
    line_before: 'The line is not open yet',
    join: 'Join the line',
    in_line: 'You are in line',
    missed: 'Join again',
  },
  joining: 'Joining…',
  refused: {
    claim_required: 'The shop must verify you before you can join this line.',
    claim_used: 'You have joined this line with another account. Use that one.',
  } as Readonly<Record<string, string>>,
  notes: {
    line_before: 'Keep this page open: you can join by the shop’s clock.',
    join: 'You may buy when it is your turn. Your place is kept if you close this page.',
    in_line: 'You may buy when it is your turn.',
    missed: 'You get a new place at the end of the line.',
  },
  opensIn: (left: string) => `You can join in ${left}`,
  byDraw: (time: string) => `Everyone who joins before ${time} gets a place by lot. Being first is no advantage.`,
  joined: (count: string) => `${count} in line`,
  ahead: (ahead: number, shown: string) =>
    ahead === 0 ? 'You are next' : ahead === 1 ? '1 person ahead of you' : `${shown} people ahead of you`,
  place: (place: string) => `Your place: ${place}`,
  number: (number: string) => `Your number: ${number}`,
  progress: 'Way through the line',
  wait: (from: number, to: number) =>
    to <= 1
      ? 'About a minute'
      : from < 1
        ? `Up to ${to} minutes`
        : from === to
          ? `About ${to} minutes`
          : `${from} to ${to} minutes`,
  waitUnknown: 'How long it takes is not known yet',
  startsAt: (time: string) => `People are let in from ${time} on`,
  paused: 'The shop lets no one in for the moment. Your place is kept.',
  soldOut: 'Sold out for now. You keep your place: units come back when orders are not paid.',
  cameBack: (units: number, shown: string) => (units === 1 ? '1 unit came back' : `${shown} units came back`),
  turn: 'It’s your turn',
  turnLeft: (left: string) => `${left} left to buy`,
  turnTitle: 'Your turn!',
  missed: 'Your turn is over',
  missedWhy: 'You did not order in time, so the next in line was let in.',
  unsealed: (time: string) =>
    `Places are drawn after ${time}. Until then anyone can still join, with the same chance as you.`,
  sealed: 'No one can join the draw any more.',
  beacon: (source: string) => `The draw waits for a public random value: ${source}.`,
  drawing: 'The places are being drawn…',
  sound: 'Sound when it’s my turn',
  leave: 'Leave the line',
  leaveAsk: 'Leave the line? Your place is lost.',
  leaveYes: 'Yes, leave',
  leaveNo: 'Stay',
  check: 'Check the draw',
  checkNote:
    'Every place follows from a seed that was fixed before anyone joined, from all joins, and from a public value that did not exist when they were sealed.',
  checkNoBeacon:
    'Every place follows from a seed that was fixed before anyone joined, and from all joins. There is no public random value in it: the shop, who knows the seed, could have tried out last joins.',
  record: 'Record of the draw',
  recordNote: 'To check every place yourself:',
  receipt: 'Save my receipt',
  receiptNote: 'It proves your number. Only you have its salt.',
  receiptBroken: 'The server answers another receipt than when you joined. Save this one, and ask the shop.',
  facts: {
    commitment: 'Commitment',
    beacon: 'Public value',
    root: 'Seal',
    seed: 'Seed',
    number: 'Your number',
    head: 'Your receipt',
  },
  said: {
    turn: (left: string) => `It’s your turn. You have ${left} to buy.`,
    drawn: (place: string) => `The places are drawn. Yours is ${place}.`,
    left: 'You have left the line.',
  },
}

type LineWords = typeof en

const zh: LineWords = {
  line: '排队',
  labels: { line_before: '排队尚未开始', join: '加入排队', in_line: '排队中', missed: '重新排队' },
  joining: '正在加入…',
  refused: {
    claim_required: '加入排队前，请先在商店完成验证。',
    claim_used: '您已用另一个账号排队，请使用那个账号。',
  },
  notes: {
    line_before: '请保持页面打开，排队开始时间以商店时间为准。',
    join: '轮到您时即可购买。关闭页面也会保留您的位置。',
    in_line: '轮到您时即可购买。',
    missed: '您将排到队尾的新位置。',
  },
  opensIn: left => `${left} 后可加入排队`,
  byDraw: time => `${time} 之前加入的人，顺序由抽签决定，早到没有优势。`,
  joined: count => `已有 ${count} 人排队`,
  ahead: (ahead, shown) => (ahead === 0 ? '下一位就是您' : `前面还有 ${shown} 人`),
  place: place => `您的位置：第 ${place} 位`,
  number: number => `您的号码：${number}`,
  progress: '排队进度',
  wait: (from, to) =>
    to <= 1 ? '约 1 分钟' : from < 1 ? `最多 ${to} 分钟` : from === to ? `约 ${to} 分钟` : `约 ${from} 至 ${to} 分钟`,
  waitUnknown: '暂时无法估计等待时间',
  startsAt: time => `${time} 起开始放行`,
  paused: '商家暂停放行，您的位置会保留。',
  soldOut: '暂时售罄。您的位置会保留：有订单未支付时，商品会重新放出。',
  cameBack: (_, shown) => `${shown} 件商品重新放出`,
  turn: '轮到您了',
  turnLeft: left => `请在 ${left} 内购买`,
  turnTitle: '轮到您了！',
  missed: '您已错过本次机会',
  missedWhy: '您没有及时下单，已放行下一位。',
  unsealed: time => `${time} 之后抽签排序。在此之前仍可加入，机会均等。`,
  sealed: '抽签名单已封存。',
  beacon: source => `正在等待公开随机值：${source}。`,
  drawing: '正在抽签…',
  sound: '轮到我时发出声音',
  leave: '退出排队',
  leaveAsk: '确定退出排队？位置将不再保留。',
  leaveYes: '确定退出',
  leaveNo: '继续排队',
  check: '核对抽签',
  checkNote: '每个位置都由三者算出：排队开始前已固定的种子、全部加入记录，以及封存时尚不存在的公开随机值。',
  checkNoBeacon:
    '每个位置都由排队开始前已固定的种子和全部加入记录算出。其中没有公开随机值：知道种子的商家可能试算过最后的加入。',
  record: '抽签记录',
  recordNote: '自行核对每个位置：',
  receipt: '保存我的凭证',
  receiptNote: '凭证可证明您的号码，其中的盐值只有您有。',
  receiptBroken: '服务器给出的凭证与您加入时不同。请保存此凭证并联系商店。',
  facts: {
    commitment: '承诺值',
    beacon: '公开随机值',
    root: '封存值',
    seed: '种子',
    number: '您的号码',
    head: '您的凭证',
  },
  said: {
    turn: left => `轮到您了，请在 ${left}内购买。`,
    drawn: place => `抽签完成，您是第 ${place} 位。`,
    left: '您已退出排队。',
  },
}

export type { LineWords }

export function lineWords(locale: string): LineWords {
  return locale.startsWith('zh') ? zh : en
}
