// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";

/**
 * @title Metadata URIs that are made of a digest.
 * @notice A token of a batch stores only the digest of its metadata: 32 bytes in place of a URI's hundred keep 200 mints within
 * the gas of one transaction.
 */
abstract contract DigestUris {
    mapping(uint256 tokenId => bytes32) private _digests;

    /// How digests are written as URIs, from a token id on.
    struct DigestForm {
        uint256 fromTokenId;
        string prefix;
        string suffix;
    }
    DigestForm[] private _digestForms;

    /// Adds a form only if it differs from the last one.
    function _useDigestForm(uint256 fromTokenId, string calldata prefix, string calldata suffix) internal {
        uint256 count = _digestForms.length;
        if (count > 0) {
            DigestForm storage last = _digestForms[count - 1];
            if (Strings.equal(last.prefix, prefix) && Strings.equal(last.suffix, suffix)) return;
        }
        _digestForms.push(DigestForm(fromTokenId, prefix, suffix));
    }

    /// @param digest 0 for none.
    function _setDigest(uint256 tokenId, bytes32 digest) internal {
        if (digest != 0) _digests[tokenId] = digest;
    }

    /// "" for a token without a digest. The form is the newest that begins at or before the token. There are few: the service
    /// changes its form only when it moves.
    function _digestUri(uint256 tokenId) internal view returns (string memory) {
        bytes32 digest = _digests[tokenId];
        if (digest == 0) return "";
        uint256 last = _digestForms.length - 1;
        while (_digestForms[last].fromTokenId > tokenId) last--;
        DigestForm storage form = _digestForms[last];
        return string(abi.encodePacked(form.prefix, _hex(bytes16(digest)), _hex(bytes16(digest << 128)), form.suffix));
    }

    /// 32 lower-case hex digits, all at once: a loop over the digits would not leave gas for 200 URIs in a transaction.
    function _hex(bytes16 data) private pure returns (bytes32) {
        uint256 x = uint256(uint128(data));
        // Moves halves apart, then their halves: 64, 32, 16 and 8 bits, then the digits, each to a byte of its own.
        x = ((x >> 64) << 192) | ((x & type(uint64).max) << 64);
        x = (x | (x >> 32)) & 0xffffffff00000000ffffffff00000000ffffffff00000000ffffffff00000000;
        x = (x | (x >> 16)) & 0xffff0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff0000;
        x = (x | (x >> 8)) & 0xff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00;
        x = ((x >> 4) & 0x0f000f000f000f000f000f000f000f000f000f000f000f000f000f000f000f00) | ((x >> 8) & 0x000f000f000f000f000f000f000f000f000f000f000f000f000f000f000f000f);
        // 1 for a to f.
        uint256 letters = ((x + 0x0606060606060606060606060606060606060606060606060606060606060606) >> 4) & 0x0101010101010101010101010101010101010101010101010101010101010101;
        // "0" is 0x30, and "a" is 39 after what "9" + 1 would be.
        return bytes32(x + 0x3030303030303030303030303030303030303030303030303030303030303030 + letters * 39);
    }
}
