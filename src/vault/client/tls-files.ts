// The files of one side of TLS: its certificate with the intermediate ones, its private key, and the authority of the
// other side's certificate. No other authority is trusted, not even those of the system.

import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'

const READABLE_BY_OTHERS = 0o077

/** Paths of PEM files. */
export type TlsFiles = { readonly certFile: string; readonly keyFile: string; readonly caFile: string }

/** The content of the files, for `node:tls`. */
export type TlsParts = { readonly cert: Buffer; readonly key: Buffer; readonly ca: Buffer }

const read = <Parsed>(path: string, what: string, parse: (bytes: Buffer) => Parsed) => {
  try {
    const bytes = readFileSync(path)
    return { bytes, parsed: parse(bytes) }
  } catch (cause) {
    throw new Error(`${path} must be a PEM file with ${what} that this process can read.`, { cause })
  }
}

const certificateOf = (bytes: Buffer): X509Certificate => new X509Certificate(bytes)

/** @throws Error with a sentence for the operator. It contains nothing of the files. */
export const readTls = ({ certFile, keyFile, caFile }: TlsFiles): TlsParts => {
  const ca = read(caFile, 'the certificate of an authority', certificateOf)
  const cert = read(certFile, 'a certificate', certificateOf)
  const key = read(keyFile, 'a private key', createPrivateKey)
  if ((statSync(keyFile).mode & READABLE_BY_OTHERS) !== 0) {
    throw new Error(`${keyFile} is open to its group or to others: only its owner may read it (chmod 600).`)
  }
  if (!cert.parsed.checkPrivateKey(key.parsed)) {
    throw new Error(`The private key in ${keyFile} does not belong to the certificate in ${certFile}.`)
  }
  return { cert: cert.bytes, key: key.bytes, ca: ca.bytes }
}
