// A caller who does what a refusal tells.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Answer } from './service.ts'

/** Sends a request again while the service refuses it as `busy`, each time after the seconds of `Retry-After`. */
export const untilServed = async (send: () => Promise<Answer>): Promise<Answer> => {
  const answer = await send()
  if (answer.json?.code !== 'busy') return answer
  await sleep(Number(answer.headers.get('retry-after')) * 1000)
  return untilServed(send)
}
