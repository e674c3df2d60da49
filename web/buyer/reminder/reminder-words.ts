/** Every text of the reminder, in English and Chinese. */

const en = {
  heading: 'Don’t miss the opening',
  remind: 'Remind me one minute before',
  calendar: 'Add to my calendar',
  off: 'The reminder is a short sound and, if your browser allows it, a notification. It needs this page to stay open.',
  on: 'The reminder is set: one minute before, a notification and a short sound. Keep this page open.',
  onSoundOnly:
    'The reminder is set. This browser shows no notifications of this page, so one minute before there is a short sound, and the title of the tab changes. Keep this page open.',
  locked: 'To hear the sound, press anything on this page once.',
  gone: 'The reminder is off.',
  soon: 'The sale opens in less than a minute. Stay on this page.',
  title: 'Opens in a minute',
  body: 'The sale opens in one minute.',
}

type ReminderWords = typeof en

const zh: ReminderWords = {
  heading: '不错过开抢',
  remind: '开抢前一分钟提醒我',
  calendar: '加入日历',
  off: '提醒方式为一声短音，浏览器允许时还会弹出通知。需保持此页打开。',
  on: '已设置提醒：开抢前一分钟将弹出通知并响一声短音。请保持此页打开。',
  onSoundOnly: '已设置提醒。此浏览器不显示本页的通知，开抢前一分钟将响一声短音，标签页标题也会变化。请保持此页打开。',
  locked: '要听到声音，请在此页上按一下任意位置。',
  gone: '提醒已关闭。',
  soon: '不到一分钟就要开抢了，请留在此页。',
  title: '一分钟后开抢',
  body: '还有一分钟开抢。',
}

/** @param locale of the page's texts */
export function reminderWords(locale: string): ReminderWords {
  return locale === 'en' ? en : zh
}
