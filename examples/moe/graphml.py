#!/usr/bin/env python3
"""GraphML of a knowledge graph, for networkx, Gephi and yEd:  graphml.py knowledge_graph.json > knowledge_graph.graphml"""
import json
import sys
import xml.etree.ElementTree as xml

TYPES = {int: "long", float: "double", str: "string"}
graph = json.load(open(sys.argv[1], encoding="utf-8"))
root = xml.Element("graphml", xmlns="http://graphml.graphdrawing.org/xmlns")
body = xml.SubElement(root, "graph", edgedefault="undirected")
for node in graph["nodes"]:  # the shares of concepts stand beside the numbers of an expert
    node.update({"share of " + c["concept"]: c["weight"] for c in graph["expert_concepts"] if c["expert"] == node["id"]})
keys = {}
for kind, ends, one in [("node", ["id"], n) for n in graph["nodes"]] + [("edge", ["source", "target"], e) for e in graph["edges"]]:
    part = xml.SubElement(body, kind, {end: str(one[end]) for end in ends})
    for name, value in one.items():
        if name not in ends and value is not None:
            key = keys.setdefault((kind, name), (f"k{len(keys)}", TYPES[type(value)]))
            xml.SubElement(part, "data", key=key[0]).text = str(value)
for number, ((kind, name), (key, typed)) in enumerate(keys.items()):
    root.insert(number, xml.Element("key", {"id": key, "for": kind, "attr.name": name, "attr.type": typed}))
sys.stdout.write(xml.tostring(root, encoding="unicode", xml_declaration=True) + "\n")
