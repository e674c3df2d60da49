/** Every text of the demo's crowd, in English and Chinese. */

const en = {
  title: 'Demo',
  labels: { offered: 'Bring the crowd', running: 'The crowd is here…', done: 'Bring the crowd again' },
  notes: {
    offered: (buyers: string) => `This is a demo: start ${buyers} simulated buyers and watch the units sell.`,
    running: (buyers: string) => `${buyers} simulated buyers are buying at the same time as you.`,
    done: (buyers: string) => `${buyers} simulated buyers were here. Each unit was sold once; the others were refused.`,
  },
  ops: 'Operations page',
}

type CrowdWords = typeof en

const zh: CrowdWords = {
  title: '演示',
  labels: { offered: '启动模拟买家', running: '模拟买家抢购中…', done: '再次启动模拟买家' },
  notes: {
    offered: buyers => `这是演示：启动 ${buyers} 位模拟买家，看商品如何被抢光。`,
    running: buyers => `${buyers} 位模拟买家正和您同时抢购。`,
    done: buyers => `${buyers} 位模拟买家已抢购完毕。每件只卖出一次，其余买家未抢到。`,
  },
  ops: '运营页面',
}

/** @param locale of the page's texts */
export function crowdWords(locale: string): CrowdWords {
  return locale === 'en' ? en : zh
}
