// Certificate authorities of a test's own, by openssl.

import { execFileSync } from 'node:child_process'
import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TlsFiles } from '../../src/vault/client/tls-files.ts'

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'] as const

/** What a certificate says. */
type Saying = {
  /** As openssl writes it, such as `DNS:localhost`; by default none. */
  readonly names?: string
  /** `serverAuth` or `clientAuth`; by default it is for anything. */
  readonly use?: 'serverAuth' | 'clientAuth'
  /** Below 0 it has ended already. */
  readonly days?: number
  /** Who signs it; by default "ours". */
  readonly authority?: string
  readonly commonName?: string
}

/** Makes authorities and certificates in a folder: `NAME.crt` and `NAME.key`. */
export const certificatesIn = (folder: string) => {
  const openssl = (...args: readonly string[]) => execFileSync('openssl', args, { stdio: 'ignore', cwd: folder })
  const at = (name: string): string => join(folder, name)

  return {
    at,
    authority: (name: string): void => {
      openssl(
        ...['req', '-x509', ...NEW_KEY, '-days', '1', '-subj', `/CN=${name}`],
        '-keyout',
        `${name}.key`,
        ...['-out', `${name}.crt`],
      )
    },
    certificate: async (name: string, saying: Saying = {}): Promise<TlsFiles> => {
      const { names, use, days = 1, authority = 'ours', commonName = name } = saying
      const lines = [names && `subjectAltName=${names}`, use && `extendedKeyUsage=${use}`].filter((line) => line)
      await writeFile(at(`${name}.ext`), `${lines.join('\n')}\n`)
      openssl('req', ...NEW_KEY, '-subj', `/CN=${commonName}`, '-keyout', `${name}.key`, '-out', `${name}.csr`)
      openssl(
        ...['x509', '-req', '-in', `${name}.csr`, '-CA', `${authority}.crt`, '-CAkey', `${authority}.key`],
        ...['-CAcreateserial', '-days', String(days), '-extfile', `${name}.ext`, '-out', `${name}.crt`],
      )
      return { certFile: at(`${name}.crt`), keyFile: at(`${name}.key`), caFile: at('ours.crt') }
    },
    /** Puts a certificate and its key in the place of another one's. */
    replace: async (name: string, by: string): Promise<void> => {
      for (const kind of ['key', 'crt']) await rename(at(`${by}.${kind}`), at(`${name}.${kind}`))
    },
  }
}
