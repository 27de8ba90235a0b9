// The health check of a container (`strongroom health`): whether the process that runs in it can serve. Exits with 0 or
// 1.

import { readFileSync } from 'node:fs'
import { readConfig } from '../platform/config.ts'
import { explainFailure } from '../platform/environment/failure.ts'
import { connectOperatorVault, operatorSocketOf } from '../vault/client/remote-vault.ts'
import { LACKING_WORDS } from '../vault/contract/contract.ts'

/** The container's runtime gives up a check that takes longer. */
const TIMEOUT_MS = 4_000

const checkUrl = async (url: string): Promise<void> => {
  const { status } = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) })
  // A worker's metrics may want a token, which is an answer too.
  if (status >= 500) throw new Error(`${new URL(url).pathname} answers ${status}.`)
}

/** Asks at the operator's socket, where VAULT_CLIENT_UIDS does not count. */
const checkVault = async (socket: string): Promise<void> => {
  const sockets = [operatorSocketOf(socket)]
  const vault = connectOperatorVault({ sockets, name: 'strongroom-health', onChange: () => {} })
  try {
    const { lacking } = await vault.status()
    if (lacking !== null) throw new Error(LACKING_WORDS[lacking])
  } finally {
    vault.close()
  }
}

/** The address by which a listener is reached from its own machine. */
const here = (host: string): string => (['0.0.0.0', '::'].includes(host) ? 'localhost' : host)

/** Which process it is, by the words of its command line: that of the image's command, or the file that this starts. */
const check = async (words: readonly string[]): Promise<void> => {
  const isOne = (...names: readonly string[]) => names.some((name) => words.includes(name))
  if (isOne('api', 'src/main/api.ts')) {
    const { host, port } = readConfig(undefined, 'api')
    return checkUrl(`http://${here(host)}:${port}/readyz`)
  }
  if (isOne('vault', 'src/main/vault.ts')) {
    const [socket] = readConfig(undefined, 'vault').vaultSockets
    if (socket === undefined) throw new Error('VAULT_SOCKET is not set.')
    return checkVault(socket)
  }
  if (isOne('worker', 'src/main/worker.ts')) {
    const { workerMetricsListener: at } = readConfig(undefined, 'worker')
    // Without it a worker listens nowhere.
    if (at !== null) return checkUrl(`http://${here(at.host)}:${at.port}/metrics`)
  }
  if (isOne('console', 'src/main/console.ts')) {
    const { consoleHost, consolePort } = readConfig(undefined, 'console')
    return checkUrl(`http://${here(consoleHost)}:${consolePort}/healthz`)
  }
}

check(readFileSync('/proc/1/cmdline', 'utf8').split('\0')).then(
  () => process.exit(0),
  (error: unknown) => {
    process.stderr.write(`${explainFailure(error)}\n`)
    process.exit(1)
  },
)
