import { describe, test } from 'bun:test'
import { type Random, seededRandom, systemRandom } from '../../base/random.ts'
import { shardIdsOf, shardOf } from '../shard-ids.ts'
import { ITEM, openCache, shardStatus, status } from './gate-cache.fixture.ts'

interface Counted {
  readonly version: number
  readonly buyers: ReadonlySet<string>
}

/**
 * A gate, a channel that keeps the order and may break, statuses and replies that overtake it, all under one seed. Messages are lost only
 * between a break and the word that there was one. The item has one shard, or several; then an epoch now and then has one.
 */
class Scene {
  readonly #random: Random
  readonly #refusals: boolean
  readonly #shards: number
  #ids: readonly string[]
  readonly #opened = openCache({}, (shard, epoch) => this.#pages(shard, epoch))
  readonly #clock = this.#opened.clock
  readonly #cache = this.#opened.cache
  #epoch = 1
  /** Of each shard. */
  #versions: number[]
  #made = 0
  /** buyer → whether the gate still knows of it. */
  #gate = new Set<string>()
  #channel: (() => void)[] = []
  #broken = false
  readonly #underway: (() => void)[] = []
  #reload: Promise<void> | undefined
  #nextPage: (() => void) | undefined
  /** Whom the newest status that has arrived counted, in each shard of its epoch. */
  #counted = { epoch: 0, shards: [] as Counted[] }
  readonly #heard = new Set<string>()

  constructor(random: Random, refusals: boolean, shards: number) {
    this.#random = random
    this.#refusals = refusals
    this.#shards = shards
    this.#ids = shardIdsOf(ITEM, shards)
    this.#versions = this.#ids.map(() => 0)
  }

  #shardOf(buyer: string): number {
    return shardOf(buyer, this.#ids.length)
  }

  /** Of the gate's buyers, those of this shard. */
  #buyersIn(shard: number): Set<string> {
    return new Set([...this.#gate].filter(buyer => this.#shardOf(buyer) === shard))
  }

  #below(n: number): number {
    return Math.floor(this.#random.next() * n)
  }

  async step(): Promise<void> {
    const chance = this.#below(100)
    if (chance < 30) this.#reserve()
    else if (chance < 50) this.#deliver()
    else if (chance < 62) this.#askStatus()
    else if (chance < 78) this.#arrive()
    else if (chance < 80) this.#break()
    else if (chance < 84) this.#mend()
    else if (chance < 86 && this.#refusals) this.#refuse()
    else if (chance < 88) this.#versions[this.#below(this.#versions.length)]! += 1
    else if (chance < 90) this.#nextEpoch()
    else if (chance < 95) this.#clock.go(this.#below(700))
    else if (this.#reload === undefined) this.#startReload()
    else this.#nextPage?.()
    // Lets a reload take its next page.
    for (let i = 0; i < 8; i++) await Promise.resolve()
    this.check()
  }

  /** Everything that is underway arrives, and what is incomplete is reloaded: then strangers are a no again. */
  async quiet(): Promise<void> {
    this.#mend()
    while (this.#channel.length > 0) this.#deliver()
    while (this.#underway.length > 0) this.#arrive()
    await this.#reloaded()
    this.#clock.go(1)
    this.#statusNow()
    this.#clock.go(1_000)
    for (let i = 0; i < this.#shards; i++) {
      this.#startReload()
      await this.#reloaded()
    }
    this.#clock.go(1)
    this.#statusNow()
    const buyers = this.#gate.size
    const shown = this.#cache.statusNow(ITEM)
    if (shown?.buyers !== buyers) throw new Error(`${buyers} buyers, ${shown?.buyers} are shown`)
    if (this.#cache.knows(ITEM, 'nobody')) throw new Error('yes to a stranger when all is quiet')
  }

  #statusNow(): void {
    this.#askStatus()
    this.#arrive()
    this.check()
  }

  async #reloaded(): Promise<void> {
    while (this.#reload !== undefined) {
      this.#nextPage?.()
      for (let i = 0; i < 8; i++) await Promise.resolve()
    }
  }

  check(): void {
    // With refusals, one that was refused may stand in for one whose message is underway; not for longer than that.
    if (this.#refusals && (this.#channel.length > 0 || this.#broken)) return
    for (const buyer of this.#counted.shards.flatMap(shard => [...shard.buyers])) {
      if (this.#gate.has(buyer) && !this.#cache.knows(ITEM, buyer)) throw new Error(`no to ${buyer}, who was counted`)
    }
    for (const buyer of this.#heard) {
      if (this.#gate.has(buyer) && !this.#cache.knows(ITEM, buyer)) throw new Error(`no to ${buyer}, who was heard of`)
    }
  }

  #reserve(): void {
    const buyers = Array.from({ length: 1 + this.#below(3) }, () =>
      this.#below(8) === 0 && this.#made > 0 ? `b${this.#below(this.#made)}` : `b${this.#made++}`,
    )
    // A batch is of one shard.
    for (const [shard, mine] of Map.groupBy(buyers, buyer => this.#shardOf(buyer))) this.#taken(shard, mine)
  }

  #taken(shard: number, buyers: readonly string[]): void {
    this.#versions[shard]! += 1
    for (const buyer of buyers) this.#gate.add(buyer)
    const [id, epoch, version] = [this.#ids[shard]!, this.#epoch, this.#versions[shard]!]
    const feed = () => {
      for (const buyer of buyers) this.#heard.add(buyer)
      this.#cache.reserved(id, { epoch, version, left: 1 }, buyers)
    }
    if (!this.#broken) this.#channel.push(feed)
    // Ours: the reply comes on another way.
    if (this.#below(3) === 0) this.#underway.push(feed)
  }

  #deliver(): void {
    this.#channel.shift()?.()
  }

  #askStatus(): void {
    const askedAtMs = this.#clock.elapsed()
    this.#clock.go(this.#below(3))
    const shards = this.#ids.map((shard, i) => ({ shard, version: this.#versions[i]!, buyers: this.#buyersIn(i) }))
    const sum = {
      epoch: this.#epoch,
      version: this.#versions.reduce((one, other) => one + other),
      buyers: this.#gate.size,
    }
    const taken = status(
      shards.length === 1
        ? sum
        : { ...sum, shards: shards.map(one => shardStatus({ ...one, buyers: one.buyers.size })) },
    )
    this.#underway.push(() => {
      if (taken.epoch > this.#counted.epoch) this.#counted = { epoch: taken.epoch, shards: [...shards] }
      else if (taken.epoch === this.#counted.epoch)
        for (const [i, one] of shards.entries())
          if (one.version >= this.#counted.shards[i]!.version) this.#counted.shards[i] = one
      this.#cache.seen(taken, askedAtMs)
    })
  }

  #arrive(): void {
    const [one] = this.#underway.splice(this.#below(this.#underway.length), 1)
    one?.()
  }

  #break(): void {
    this.#broken = true
    this.#channel = []
  }

  #mend(): void {
    if (!this.#broken) return
    this.#broken = false
    this.#clock.go(1)
    this.#cache.missed()
  }

  #refuse(): void {
    const all = [...this.#gate]
    const one = all[this.#below(all.length)]
    if (one === undefined) return
    this.#gate.delete(one)
    this.#heard.delete(one)
    this.#versions[this.#shardOf(one)]! += 1
  }

  #nextEpoch(): void {
    this.#epoch += 1 + (this.#below(4) === 0 ? 1 : 0)
    this.#ids = shardIdsOf(ITEM, this.#below(3) === 0 ? 1 : this.#shards)
    this.#versions = this.#ids.map(() => 0)
    this.#gate = new Set(this.#gate)
  }

  /** Like a scan: buyers who were there when it began are shown, buyers who came since may be. */
  async *#pages(id: string, epoch: number) {
    if (epoch !== this.#epoch) throw new Error(`epoch ${epoch} is read, ${this.#epoch} sells`)
    const all = [...this.#buyersIn(this.#ids.indexOf(id))]
    for (let from = 0; from < all.length; from += 5) {
      yield all.slice(from, from + 5)
      await new Promise<void>(next => {
        this.#nextPage = next
      })
    }
  }

  /** Two rounds: the first notes what is incomplete, the second reads one filter again. */
  #startReload(): void {
    const epochOf = () => this.#epoch
    this.#reload = Promise.all([this.#cache.reloadFilters(epochOf), this.#cache.reloadFilters(epochOf)]).then(() => {
      this.#reload = undefined
      this.#nextPage = undefined
    })
  }
}

describe('never a wrong no, whatever overtakes what; and strangers are a no when all is quiet', () => {
  const seed = Math.floor(systemRandom.next() * 2 ** 31)
  test.each([
    [false, 1],
    [true, 1],
    [false, 3],
    [true, 3],
  ])('reservations refused now and then: %p, shards: %p', async (refusals, shards) => {
    console.log(`  seed ${seed}`)
    for (let round = 0; round < 300; round++) {
      const scene = new Scene(seededRandom(seed + round), refusals, shards)
      try {
        for (let i = 0; i < 150; i++) await scene.step()
        await scene.quiet()
      } catch (error) {
        throw new Error(`seed ${seed + round}: ${error instanceof Error ? error.message : error}`)
      }
    }
  })
})
