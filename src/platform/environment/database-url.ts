import { isLocal } from './hosts.ts'

const TLS_MODES = ['require', 'verify-ca', 'verify-full']
/** Those of libpq. */
const SSL_MODES = ['disable', 'allow', 'prefer', ...TLS_MODES]

/** A database URL may name several hosts, separated by commas. */
const areLocal = (hosts: string): boolean => hosts.split(',').every(isLocal)

/**
 * What the URL of the database must be; null if it is right. On mainnet, traffic to other machines must be encrypted.
 * @param input.defaultHost the host if the URL has none.
 */
export const rightDatabaseUrl = (
  text: string,
  input: { readonly isMainnet: boolean; readonly defaultHost: string | undefined },
): string | null => {
  const { hostname, searchParams } = new URL(text)
  const hosts = [hostname || input.defaultHost || 'localhost', ...searchParams.getAll('host')]
  const modes = searchParams.getAll('sslmode')
  const isEncrypted = modes.length > 0 && modes.every((mode) => TLS_MODES.includes(mode))
  if (input.isMainnet && !hosts.every(areLocal) && !isEncrypted) {
    return 'a URL with ?sslmode=verify-full (or verify-ca, or require) on mainnet, unless its host is this machine'
  }
  if (modes.length > 1 || modes.some((mode) => !SSL_MODES.includes(mode))) {
    return `a URL with at most one sslmode, of ${SSL_MODES.join(', ')}`
  }
  if (modes.includes('verify-ca') && !searchParams.get('sslrootcert')) {
    return 'a URL with &sslrootcert=/path beside sslmode=verify-ca: the file of the authority'
  }
  return null
}
