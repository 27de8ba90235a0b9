// A closed loop of work, mostly of requests to loopback, bounded in number at once and in time.

import type { Service } from '../test/support/service.ts'

export type LoadResult = {
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly requests: number
}

export const percentile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN

export const median = (values: readonly number[]): number =>
  percentile(
    [...values].sort((a, b) => a - b),
    0.5,
  )

/** The medians of rounds. */
export const middle = (rounds: readonly LoadResult[]): LoadResult => ({
  perSecond: median(rounds.map((round) => round.perSecond)),
  p50Ms: median(rounds.map((round) => round.p50Ms)),
  p99Ms: median(rounds.map((round) => round.p99Ms)),
  requests: rounds.reduce((sum, round) => sum + round.requests, 0),
})

/** What a project's requests carry. */
export const headersOf = ({ project }: Pick<Service, 'project'>) => ({
  'content-type': 'application/json',
  authorization: `Bearer ${project.apiKey}`,
  'x-walletkit-project-id': project.projectId,
})

/** Does the same again and again, so many at once. @throws as the first that fails. */
export const repeat = async (input: {
  readonly work: (index: number) => Promise<void>
  readonly atOnce: number
  readonly seconds: number
  /** Where each is good once. */
  readonly timesMax?: number
}): Promise<LoadResult> => {
  const latencies: number[] = []
  const start = performance.now()
  const end = start + input.seconds * 1000
  const { work, timesMax = Number.POSITIVE_INFINITY } = input
  let index = 0
  const client = async (): Promise<void> => {
    while (performance.now() < end && index < timesMax) {
      const begun = performance.now()
      await work(index++)
      latencies.push(performance.now() - begun)
    }
  }
  await Promise.all(Array.from({ length: input.atOnce }, client))
  const seconds = (performance.now() - start) / 1000
  const sorted = latencies.sort((a, b) => a - b)
  return {
    perSecond: sorted.length / seconds,
    p50Ms: percentile(sorted, 0.5),
    p99Ms: percentile(sorted, 0.99),
    requests: sorted.length,
  }
}

/** @throws Error at the first answer that is not 200: a benchmark of refusals measures nothing. */
export const load = (input: {
  readonly url: string
  /** Behind the URL; nothing by default. */
  readonly pathOf?: (index: number) => string
  readonly request: (index: number) => RequestInit
  readonly atOnce: number
  readonly seconds: number
  /** Where each request is good once. */
  readonly requestsMax?: number
}): Promise<LoadResult> => {
  const { pathOf = () => '', atOnce, seconds, requestsMax: timesMax } = input
  const work = async (index: number): Promise<void> => {
    const response = await fetch(input.url + pathOf(index), input.request(index))
    const text = await response.text()
    if (response.status !== 200) throw new Error(`answered ${response.status}: ${text}`)
  }
  return repeat({ work, atOnce, seconds, ...(timesMax === undefined ? {} : { timesMax }) })
}
