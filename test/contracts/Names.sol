// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// EIP-137's registry, which anyone may write.
contract NameRegistry {
    mapping(bytes32 => address) public resolver;

    function setResolver(bytes32 node, address to) external {
        resolver[node] = to;
    }
}

/// EIP-137's resolver, which anyone may write.
contract NameResolver {
    mapping(bytes32 => address) public addr;

    function setAddr(bytes32 node, address to) external {
        addr[node] = to;
    }
}

/// ENSIP-10: answers for every name below its own; or sends callers elsewhere (EIP-3668).
contract WildcardResolver {
    error OffchainLookup(address sender, string[] urls, bytes callData, bytes4 callbackFunction, bytes extraData);

    address private immutable _to;
    string private _url;

    constructor(address to, string memory url) {
        _to = to;
        _url = url;
    }

    function supportsInterface(bytes4 id) external pure returns (bool) {
        return id == 0x9061b923;
    }

    function resolve(bytes calldata, bytes calldata data) external view returns (bytes memory) {
        if (bytes(_url).length == 0) return abi.encode(_to);
        string[] memory urls = new string[](1);
        urls[0] = _url;
        revert OffchainLookup(address(this), urls, data, this.resolve.selector, "");
    }
}
