import { setTimeout as sleep } from 'node:timers/promises'
import { type ChainParts, createChainer } from './chain/chain.ts'

const PAUSE_MS = 1_000

/**
 * Chains audit rows about once a second, beside other vaults that do the same.
 * @returns ends it after the step under way.
 */
export const startChaining = (parts: ChainParts): (() => Promise<void>) => {
  const stopping = new AbortController()
  const { signal } = stopping
  const { step } = createChainer(parts)
  let isFailing = false
  const tried = async () => {
    try {
      const result = await step()
      isFailing = false
      return result
    } catch (err) {
      if (!isFailing) parts.log.error({ err }, 'audit rows cannot be chained: trying again every second')
      isFailing = true
      return 'failed'
    }
  }
  const running = (async () => {
    while (!signal.aborted) {
      if ((await tried()) !== 'advanced') await sleep(PAUSE_MS, undefined, { signal }).catch(() => {})
    }
  })()
  return async () => {
    stopping.abort()
    await running
  }
}
