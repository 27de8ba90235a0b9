import type { Config } from '../../platform/config.ts'

/** Where browsers reach the console. @param port the one at which it listens. */
export const originOf = ({ consoleOrigin }: Pick<Config, 'consoleOrigin'>, port: number): string =>
  consoleOrigin ?? `http://localhost:${port}`
