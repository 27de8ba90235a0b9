// Users and sessions: what authentication costs a request, proofs of logins, and refreshing.

import type { Service } from '../test/support/service.ts'
import { startStack } from './stack.ts'
import { benchLogins, LOGIN_WAYS, type LoginCost, type LoginWay } from './users-logins.ts'
import { benchOverhead, type Cost, type Overhead } from './users-overhead.ts'
import { benchRefresh, type RefreshBench } from './users-refresh.ts'

export type UsersBench = {
  readonly overhead: readonly Overhead[]
  readonly logins: Readonly<Record<LoginWay, LoginCost>>
  readonly refresh: RefreshBench
}

/** @param input.service on a database where nobody has logged in yet. */
export const benchUsers = async (input: {
  readonly service: Service
  readonly postgresPid: number
}): Promise<UsersBench> => {
  const { service, postgresPid } = input
  const stack = await startStack(service, { variables: { TRUSTED_PROXIES: '1' } })
  const served = { service, postgresPid, apiUrl: stack.url, apiPid: stack.pids.api }
  try {
    const refresh = await benchRefresh(served)
    const logins = await benchLogins(served)
    return { refresh, logins, overhead: await benchOverhead({ service, stack, postgresPid }) }
  } finally {
    await stack.stop()
  }
}

const cpuOf = ({ cpuMs }: { readonly cpuMs: Readonly<Record<string, number>> }): number =>
  Object.values(cpuMs).reduce((sum, ms) => sum + ms, 0)

const column = (value: number, digits: number, width: number): string => value.toFixed(digits).padStart(width)
const percent = (ratio: number): string => `${ratio < 0 ? '' : '+'}${(ratio * 100).toFixed(1)}%`.padStart(9)

const overheadLines = ({ what, costs }: Overhead): readonly string[] => {
  const { none } = costs
  const line = (way: string, cost: Cost) =>
    `    ${way.padEnd(32)}${column(cost.perSecond, 0, 11)}${column(cost.p50Ms, 2, 9)}${percent(cost.p50Ms / none.p50Ms - 1)}` +
    `${column(cpuOf(cost) * 1000, 0, 9)}${percent(cpuOf(cost) / cpuOf(none) - 1)}`
  return [`  ${what}`, ...Object.entries(costs).map(([way, cost]) => line(way, cost))]
}

/** The bench's figures as lines of text. */
export const usersTable = ({ overhead, logins, refresh }: UsersBench): readonly string[] => [
  '\nAuthentication over HTTP             per second   p50 ms   to none   CPU µs   to none   (aim: under 5% of signing)',
  ...overhead.flatMap(overheadLines),
  `  an access token's signature: ${(refresh.firstSeenTokenMs * 1000).toFixed(0)} µs where it is seen first, ${(refresh.knownTokenMs * 1000).toFixed(1)} µs from then on`,
  '\nLogging in over HTTP, 32 at once     per second   p50 ms   p99 ms   CPU ms   bare signature check, ms',
  ...LOGIN_WAYS.map((way) => {
    const cost = logins[way]
    const check = cost.bareCheckMs === null ? '' : column(cost.bareCheckMs, 2, 9)
    return `  ${way.padEnd(34)}${column(cost.perSecond, 0, 11)}${column(cost.p50Ms, 1, 9)}${column(cost.p99Ms, 1, 9)}${column(cpuOf(cost), 2, 9)}${check}`
  }),
  `  a bare session, inserted${column(refresh.bareInsertsPerSecond, 0, 21)}`,
  `\nRefreshing, ${refresh.sessions} sessions at once  per second   p50 ms   p99 ms   CPU ms`,
  `  ${'refresh-token'.padEnd(34)}${column(refresh.refreshes.perSecond, 0, 11)}${column(refresh.refreshes.p50Ms, 0, 9)}${column(refresh.refreshes.p99Ms, 0, 9)}${column(cpuOf(refresh.refreshes), 2, 9)}`,
  `  a bare session, updated${column(refresh.bareUpdatesPerSecond, 0, 22)}   (of ${refresh.refreshes.requests} refreshes none was lost)`,
]
